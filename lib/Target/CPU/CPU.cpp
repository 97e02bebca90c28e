//===- CPU.cpp - the CPU in the list of targets ---------------------------===//

#include "tessera/Target/CPU/CPU.h"

#include "tessera/Support/Failures.h"
#include "tessera/Target/CPU/AttentionForm.h"
#include "tessera/Target/CPU/AttentionGradientForm.h"
#include "tessera/Target/CPU/CPUCodeTarget.h"
#include "tessera/Target/CPU/ExpertForms.h"
#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/Forms.h"
#include "tessera/Target/Forms/CacheBlocks.h"
#include "tessera/runtime/io/PackedShape.h"

namespace tessera {
void CPUCodeTarget::buildKernelPipeline(mlir::OpPassManager &pm) const {
  buildKernelToLLVMPipeline(pm, machine);
}

TargetSection CPUCodeTarget::manifestSection() const {
  return {"cpu", llvm::json::Object{{"name", machine.name.empty() ? machine.cpu : machine.name},
                                    {"features", llvm::json::Array(machine.requiredFeatures)}}};
}

int64_t CPUCodeTarget::packedBytes(int64_t rows, int64_t columns, io::DType type) const {
  return io::PackedShape(rows, columns, type).bytes;
}

Status CPUCodeTarget::emitObject(mlir::ModuleOp module, llvm::StringRef path) const {
  return asStatus(tessera::emitObject(module, machine, path), "cannot make executable");
}

Status CPUCodeTarget::link(const LinkOptions &options, llvm::StringRef output) const {
  return asStatus(linkExecutable(options, output), "cannot make executable");
}

namespace {

class CPU : public CPUCodeTarget {
public:
  /// `chunk`: positions of a prompt's chunk; 0: what suits the machine.
  CPU(CPUTarget machine, int64_t chunk) : CPUCodeTarget(std::move(machine)) {
    choices.ringCaches = true;
    if (chunk)
      choices.prefillChunk = chunk;
    addAttentionForm(forms, this->machine.vectorUnit());
    addAttentionGradientForms(forms, this->machine.vectorUnit());
    addPackedWeightForms(forms);
    addCacheUpdateForm(forms);
    addExpandBlocksForm(forms);
    addScatterAddForm(forms);
    addDrawForm(forms);
    addExpertForms(forms, this->machine.vectorUnit(), /*packs=*/true);
  }

  TilingChoices tiling() const override { return choices; }
  bool holdsBlocks(io::DType type) const override { return io::isQuantized(type); }
  bool multipliesFaster(io::DType type) const override {
    return type == io::DType::BF16 && machine.vectorUnit().bf16Pairs;
  }
  int64_t blockBytes(io::DType type, int64_t rows, const io::BlockColumns &columns) const override {
    return io::BlockLayout(type, rows, columns).bytes;
  }

  /// oneDNN begins its sums of float32 with what lies in the result's place: a gradient that is added up.
  bool takesEpilogue(const ProductEpilogue &epilogue) const override {
    return epilogue.inPlace && epilogue.y.isF32() && !epilogue.biasAlignment &&
           epilogue.function == ProductFunction::None;
  }

private:
  TilingChoices choices;
};

bool isForAny(const TargetOptions &options) {
  auto it = options.find("cpu");
  return it != options.end() && it->second == "any";
}

std::vector<TargetVersion> versions(const TargetOptions &options) {
  std::vector<TargetVersion> list;
  if (isForAny(options))
    for (const char *name : kCpuLevels) {
      list.push_back({name, options});
      list.back().options["cpu"] = name;
    }
  return list;
}

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  auto it = options.find("cpu");
  std::string name = it == options.end() ? "native" : it->second;
  if (isForAny(options)) // what all have in common: they cut work alike
    name = kCpuLevels[0];
  llvm::Expected<CPUTarget> machine = resolveCPUTarget(name);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return Failure{"cannot compile", "--cpu=" + name, "no such CPU is known",
                   "choose native, any, " + cpuLevelsText() + " or one of `llc -mcpu=help`"};
  }
  int64_t chunk = 0;
  if (auto given = options.find("chunk"); given != options.end())
    if (llvm::StringRef(given->second).getAsInteger(10, chunk) || chunk < 1 || chunk > INT32_MAX)
      return Failure{"cannot compile", "--chunk=" + given->second,
                     "must be a number from 1 to " + std::to_string(INT32_MAX), "leave it out"};
  return std::shared_ptr<const Target>(std::make_shared<CPU>(std::move(*machine), chunk));
}

} // namespace

TargetDescription describeCPU() {
  return {
      "cpu",
      {{"cpu", "NAME",
        "native (default), any (several, of which OUT takes the best), " + cpuLevelsText() +
            " or a name LLVM knows"},
       {"chunk", "N",
        "positions of a prompt that go through at once (default 128); caches of layers with a window hold "
        "as many beside it"}},
      registerCPUDialectExtensions,
      registerCPUPasses,
      resolve,
      versions};
}

} // namespace tessera
