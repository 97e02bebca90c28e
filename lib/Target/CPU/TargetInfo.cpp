//===- TargetInfo.cpp - CPU names and features ------------------------------===//

#include "tessera/Target/CPU/TargetInfo.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace llvm;

static std::string hostFeatures() {
  std::string text;
  auto features = sys::getHostCPUFeatures();
  SmallVector<StringRef> names;
  for (const auto &entry : features)
    names.push_back(entry.getKey());
  llvm::sort(names); // the map's order is arbitrary; equal inputs must give equal objects
  for (StringRef name : names)
    text += (text.empty() ? "" : ",") + std::string(features.lookup(name) ? "+" : "-") + name.str();
  return text;
}

std::string cpuLevelsText() {
  return join(map_range(kCpuLevels, [](const char *name) { return StringRef(name); }), ", ");
}

VectorUnit CPUTarget::vectorUnit() const {
  bool pairs = vectorBits == 512 && llvm::is_contained(requiredFeatures, "avx512_bf16");
  return {lanes(), pairs};
}

Expected<CPUTarget> resolveCPUTarget(StringRef name) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  CPUTarget target;
  Triple triple(sys::getDefaultTargetTriple());
  target.triple = triple.str();
  std::string message;
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend || triple.getArch() != Triple::x86_64)
    return createStringError("no code generator for '" + target.triple + "': the cpu target needs x86-64");

  if (name.empty() || name == "native") {
    target.cpu = sys::getHostCPUName().str();
    target.features = hostFeatures();
  } else if (name == kLevel4BF16) { // which is no name of LLVM
    target.cpu = "x86-64-v4";
    target.features = "+avx512bf16";
    target.name = name.str();
  } else {
    // Asked of a subtarget of no particular CPU: one made for an unknown name would print a warning of its
    // own.
    std::unique_ptr<MCSubtargetInfo> any(backend->createMCSubtargetInfo(triple, "x86-64", ""));
    if (!any || !any->isCPUStringValid(name) || name == "help")
      return createStringError("unknown CPU '" + name.str() + "': use native, " + cpuLevelsText() +
                               " or a name that LLVM knows, as znver5");
    target.cpu = name.str();
  }
  // Arithmetic in float16 itself would round after every step, other than CPUs without it do: kernels widen
  // to float32, so that numbers are the same everywhere and all of the code runs on the machines we have.
  target.features += (target.features.empty() ? "" : ",") + std::string("-avx512fp16");
  std::unique_ptr<MCSubtargetInfo> subtarget(
      backend->createMCSubtargetInfo(triple, target.cpu, target.features));
  StringSet<> enabled;
  for (const SubtargetFeatureKV &feature : subtarget->getEnabledProcessorFeatures())
    enabled.insert(feature.Key);
  if (!enabled.contains("64bit"))
    return createStringError("CPU '" + target.cpu + "' has no 64-bit mode: use native or one of " +
                             cpuLevelsText());
  for (const InstructionSet &set : kInstructionSets)
    if (enabled.contains(set.llvm))
      target.requiredFeatures.push_back(set.name);
  bool avx512 = llvm::all_of(
      kAvx512Kernels, [&](const char *set) { return llvm::is_contained(target.requiredFeatures, set); });
  target.vectorBits = avx512 ? 512 : enabled.contains("avx") ? 256 : 128;
  return target;
}

} // namespace tessera
