//===- MachineDescription.cpp - The machine a module is for ---------------===//
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tessera;

/// Longest description that is read: room for a thousand axes.
static constexpr uint64_t kMachineBytes = 1 << 17;

std::optional<Machine> tessera::dist::loadMachine(StringRef path, const Mesh &mesh, std::string &text,
                                                  std::string &error) {
  auto complain = [&](const std::string &why) {
    error = "cannot read machine (" + path.str() + "): " + why;
    return std::nullopt;
  };
  llvm::sys::fs::file_status status;
  std::error_code found = llvm::sys::fs::status(path, status);
  if (!found && status.type() == llvm::sys::fs::file_type::directory_file)
    return complain("is a folder; name a JSON file that describes the machine");
  if (!found && status.type() != llvm::sys::fs::file_type::regular_file) // a pipe or a device may never end
    return complain("is no regular file; name a JSON file that describes the machine");
  if (!found && status.getSize() > kMachineBytes)
    return complain("has more than " + std::to_string(kMachineBytes) +
                    " bytes, no description is so long; name another file");
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

double tessera::dist::collectiveTime(const Machine &machine, const Mesh &mesh,
                                     CollectiveOpInterface collective) {
  ReshardStep step;
  step.kind = collective.getStepKind();
  step.received = double(bytesSent(collective, mesh));
  step.messages = double(collective.getMessages(mesh));
  if (AxisList axes = collective.getGroupAxes(mesh); !axes.empty()) {
    step.moves.emplace_back();
    step.moves.front().axes = axes;
  }
  if (ShardingAttr sharding = getShardingAttr(collective.getArrived().getType()))
    step.result = sharding.toSharding(mesh);
  return stepTime(machine, mesh, step, /*elementBytes=*/1);
}
