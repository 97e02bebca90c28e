//===- DeviceCode.cpp - PTX from LLVM, cubins from ptxas --------------------===//

#include "DeviceCode.h"

#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/Kernels/CodeGenerator.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <cstdlib>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tessera {

using namespace llvm;

static void registerBackEnd() {
  static const bool registered = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)registered;
}

Result<std::string> generatePTX(llvm::Module &module, StringRef chip) {
  registerBackEnd();
  std::string message;
  std::unique_ptr<TargetMachine> machine =
      createCodeGenerator("nvptx64-nvidia-cuda", chip, "", CodeGenOptLevel::Aggressive, message);
  if (!machine)
    return Failure{"cannot compile kernels", chip.str(), message, "install LLVM with the NVPTX back end"};
  optimizeCode(module, *machine, /*unrollLoops=*/true);
  // The code generator changes the module on its way.
  std::unique_ptr<llvm::Module> copy = CloneModule(module);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return Failure{"cannot compile kernels", chip.str(), "the code generator cannot write PTX", "report it"};
  passes.run(*copy);
  return std::string(text);
}

std::optional<std::string> findPtxas() {
  if (const char *named = std::getenv("TESSERA_PTXAS"))
    return *named ? std::optional<std::string>(named) : std::nullopt;
  SmallString<256> beside(sys::fs::getMainExecutable(nullptr, nullptr));
  sys::path::remove_filename(beside);
  sys::path::append(beside, "ptxas");
  if (sys::fs::can_execute(beside))
    return std::string(beside);
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  return std::nullopt;
}

/// The lines of `ptxas -v`.
static std::vector<KernelResources> readResources(StringRef text) {
  std::vector<KernelResources> kernels;
  Regex entry("Compiling entry function '([^']+)'"),
      frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads"),
      used("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  SmallVector<StringRef> lines, found;
  text.split(lines, '\n');
  auto number = [](StringRef digits) {
    int64_t value = 0;
    (void)digits.getAsInteger(10, value);
    return value;
  };
  for (StringRef line : lines) {
    if (entry.match(line, &found))
      kernels.push_back({found[1].str()});
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (frame.match(line, &found)) {
      kernel.stackBytes = number(found[1]);
      kernel.spilledBytes = number(found[2]) + number(found[3]);
    }
    if (used.match(line, &found))
      kernel.registers = number(found[1]);
    if (shared.match(line, &found))
      kernel.sharedBytes = number(found[1]);
    if (line.contains("serialized"))
      kernel.serialized = true;
  }
  return kernels;
}

/// Of what ptxas says the line that says what is wrong: with -v it says other things before.
static std::string firstError(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  auto *error = llvm::find_if(lines, [](StringRef line) {
    return line.contains_insensitive("error") || line.contains_insensitive("fatal");
  });
  return (error == lines.end() ? lines.front() : *error).str();
}

Result<Cubin> assemble(const std::string &ptxas, StringRef ptx, StringRef chip) {
  auto source = ScratchFile::create("tessera", "ptx"), object = ScratchFile::create("tessera", "cubin"),
       log = ScratchFile::create("tessera", "log");
  if (!source)
    return source.takeFailure();
  if (!object)
    return object.takeFailure();
  if (!log)
    return log.takeFailure();
  std::error_code error;
  {
    raw_fd_ostream stream(source->path(), error);
    stream << ptx;
    stream.close();
    if (error || stream.has_error()) {
      stream.clear_error();
      return Failure{"cannot assemble kernels", source->path(), "cannot write the file", "free some space"};
    }
  }
  std::string arch = "-arch=" + chip.str();
  StringRef args[] = {ptxas, arch, "-O3", "-v", source->path(), "-o", object->path()};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log->path()), StringRef(log->path())};
  std::string message;
  int code = sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                 &message);
  std::string said;
  if (auto buffer = MemoryBuffer::getFile(log->path()))
    said = (*buffer)->getBuffer().str();
  auto bytes = MemoryBuffer::getFile(object->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (code != 0 || !bytes ||
      !(*bytes)->getBuffer().starts_with("\x7f"
                                         "ELF")) {
    if (message.empty())
      message = firstError(said);
    if (message.empty())
      message = "it says nothing and ends with status " + std::to_string(code) + ", without a cubin";
    return Failure{"cannot assemble kernels", ptxas, message,
                   "set TESSERA_PTXAS to a ptxas of CUDA 12.8 or later, or to nothing for PTX alone"};
  }
  return Cubin{(*bytes)->getBuffer().str(), readResources(said)};
}

Status keepKernelIR(const llvm::Module &module, StringRef image) {
  const char *folder = std::getenv("TESSERA_KERNEL_IR");
  if (!folder || !*folder)
    return {};
  SHA256 hash;
  hash.update(image);
  SmallString<256> path(folder);
  std::error_code error = sys::fs::create_directories(path);
  sys::path::append(path, toHex(hash.final(), /*LowerCase=*/true) + ".bc");
  // Under its name only when it is whole: others may read there.
  SmallString<256> temporary;
  int descriptor;
  if (!error)
    error = sys::fs::createUniqueFile(path + ".%%%%%%", descriptor, temporary);
  if (!error) {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    WriteBitcodeToFile(module, stream);
    stream.close();
    error = stream.error();
    stream.clear_error();
    if (!error)
      error = sys::fs::rename(temporary, path);
  }
  if (error)
    return Failure{"cannot keep the IR of kernels", path.str().str(), error.message(),
                   "set TESSERA_KERNEL_IR to a folder that can be written, or unset it"};
  return {};
}

} // namespace tessera
