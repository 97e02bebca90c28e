//===- FusedTarget.cpp - A target whose loops run over any factor ---------===//
//
// What machines of many cores ask of kernels, on the CPU's driver so that it can be tried everywhere:
// products of a few rows are tiles, cache updates too, kernels have many iterations. Code of one lane, plain
// weights. Linked into a compiler and a judge of their own (llm-compile-fused, llm-judge-fused).
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Failures.h"
#include "tessera/Target/CPU/AttentionForm.h"
#include "tessera/Target/CPU/CPUCodeTarget.h"
#include "tessera/Target/CPU/ExpertForms.h"
#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/Forms.h"
#include "tessera/Target/Target.h"

#include "llvm/ADT/StringRef.h"

namespace tessera {
namespace {

class FusedTarget : public CPUCodeTarget {
public:
  FusedTarget(CPUTarget machine, TilingChoices choices, int64_t tileRows, bool attention)
      : CPUCodeTarget(std::move(machine)), choices(choices) {
    addMatmulForm(forms, tileRows);
    addScatterAddForm(forms);
    addDrawForm(forms);
    addExpertForms(forms, {/*lanes=*/1}, /*packs=*/false);
    if (attention) // else it is written out as smaller ops
      addAttentionForm(forms, {/*lanes=*/1});
  }
  TilingChoices tiling() const override { return choices; }
  bool takesEpilogue(const ProductEpilogue &) const override { return true; } // the CPU's driver does all

private:
  TilingChoices choices;
};

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  std::map<std::string, int64_t> values = {
      {"tile", 1024}, {"small", 64}, {"iterations", 32}, {"rows", 8}, {"attention", 1}};
  for (auto &[name, value] : values)
    if (auto it = options.find(name);
        it != options.end() && (llvm::StringRef(it->second).getAsInteger(10, value) || value < 0))
      return Failure{"cannot compile", "--" + name + "=" + it->second, "must be a number", "leave it out"};
  llvm::Expected<CPUTarget> machine = resolveCPUTarget("x86-64");
  if (!machine)
    return asStatus(machine.takeError(), "cannot compile").takeFailure();
  machine->vectorBits = 32; // one lane
  TilingChoices choices;
  choices.tileElements = values["tile"];
  choices.grainElements = values["small"];
  choices.parallelIterations = values["iterations"];
  choices.prefillChunk = 16;
  return std::shared_ptr<const Target>(
      std::make_shared<FusedTarget>(std::move(*machine), choices, values["rows"], values["attention"] != 0));
}

/// Before the list of lib/Target/CMakeLists.txt is read.
[[maybe_unused]] const bool registered = [] {
  registerTarget({"fused",
                  {{"tile", "N", "elements of a tile (default 1024)"},
                   {"small", "N", "elements that are worth a second iteration (default 64)"},
                   {"iterations", "N", "iterations that fill the machine (default 32)"},
                   {"rows", "N", "products of so many rows are tiles (default 8)"},
                   {"attention", "0|1", "1: attention is a kernel of its own (default 1)"}},
                  registerCPUDialectExtensions,
                  /*registerPasses=*/[] {},
                  resolve});
  return true;
}();

} // namespace
} // namespace tessera
