//===- MachineDescription.cpp - The machine a module is for ---------------===//
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tessera;

std::optional<Machine> tessera::dist::loadMachine(StringRef path, const Mesh &mesh, std::string &text, std::string &error) {
  auto complain = [&](const std::string &why) {
    error = "cannot read machine (" + path.str() + "): " + why;
    return std::nullopt;
  };
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return complain(file.getError().message() + "; name a JSON file that describes the machine");
  text = (*file)->getBuffer().str();
  std::string why;
  auto machine = parseMachine(text, why);
  if (!machine)
    return complain(why + "; docs/Sharding.md has the form");
  for (const auto &[axis, link] : machine->axes)
    if (!mesh.find(axis))
      return complain("it describes axis '" + axis + "', which the mesh has not; leave it out");
  return machine;
}

Machine tessera::dist::machineOf(ModuleOp module) {
  std::string error;
  auto text = module->getAttrOfType<StringAttr>(kMachineAttr);
  auto machine = text ? parseMachine(text, error) : std::nullopt;
  return machine.value_or(Machine());
}
