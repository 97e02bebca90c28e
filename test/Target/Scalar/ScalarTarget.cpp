//===- ScalarTarget.cpp - A second target, to keep the interface honest ---===//
//
// No vectors, no packed weights, no attention kernel, prefills of 16 positions, a stream for communication,
// an option of its own; its programs run on a driver of its own (runtime/test/scalar). docs/AddingATarget.md
// walks through both. Linked into a compiler of its own (llm-compile-scalar).
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Failures.h"
#include "tessera/Target/CPU/CPUCodeTarget.h"
#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/Forms.h"
#include "tessera/Target/Target.h"

#include "llvm/ADT/StringRef.h"

namespace tessera {
namespace {

class ScalarTarget : public CPUCodeTarget {
public:
  ScalarTarget(CPUTarget machine, int64_t tileElements)
      : CPUCodeTarget(std::move(machine)),
        choices{tileElements, /*grainElements=*/4096, /*prefillChunk=*/16} {
    // Attention has neither a form nor tiles: it is written out as smaller ops.
    addMatmulForm(forms);
    addCacheUpdateForm(forms);
    addScatterAddForm(forms);
    addDrawForm(forms);
  }

  TilingChoices tiling() const override { return choices; }
  bool takesEpilogue(const ProductEpilogue &) const override { return true; } // the CPU's driver does all
  StreamChoices streams() const override { return {/*communication=*/true}; }
  TargetSection manifestSection() const override {
    return {"scalar", llvm::json::Object{{"tile", choices.tileElements}}};
  }

private:
  TilingChoices choices;
};

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  auto it = options.find("tile");
  std::string value = it == options.end() ? "256" : it->second;
  int64_t tileElements = 0;
  if (llvm::StringRef(value).getAsInteger(10, tileElements) || tileElements < 1)
    return Failure{"cannot compile", "--tile=" + value, "must be a positive number", "leave it out"};
  llvm::Expected<CPUTarget> machine = resolveCPUTarget("x86-64");
  if (!machine)
    return asStatus(machine.takeError(), "cannot compile").takeFailure();
  machine->vectorBits = 32; // one lane
  return std::shared_ptr<const Target>(std::make_shared<ScalarTarget>(std::move(*machine), tileElements));
}

/// Before the list of lib/Target/CMakeLists.txt is read.
[[maybe_unused]] const bool registered = [] {
  registerTarget({"scalar",
                  {{"tile", "N", "elements of a tile (default 256)"}},
                  registerCPUDialectExtensions,
                  /*registerPasses=*/[] {},
                  resolve});
  return true;
}();

} // namespace
} // namespace tessera
