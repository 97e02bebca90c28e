//===- TargetInfo.cpp - CPU names and features ------------------------------===//

#include "tessera/Target/CPU/TargetInfo.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace llvm;

/// LLVM's name and the kernel's (/proc/cpuinfo) of the instruction sets that generated code may come to use.
static constexpr std::pair<StringLiteral, StringLiteral> kInstructionSets[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"avxvnni", "avx_vnni"},
    {"avx512f", "avx512f"},
    {"avx512bw", "avx512bw"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512ifma", "avx512ifma"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512vp2intersect", "avx512_vp2intersect"},
    {"gfni", "gfni"},
    {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"},
};

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
  } else if (name == kLevel4BF16) {
    target.cpu = "x86-64-v4";
    target.features = "+avx512bf16";
    target.name = name.str();
  } else {
    // Asked of a subtarget of no particular CPU: one made for an unknown name would print a warning of its
    // own.
    std::unique_ptr<MCSubtargetInfo> any(backend->createMCSubtargetInfo(triple, "x86-64", ""));
    if (!any || !any->isCPUStringValid(name) || name == "help")
      return createStringError("unknown CPU '" + name.str() +
                               "': use native, x86-64-v3, x86-64-v4 or a name that LLVM knows, as znver5");
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
    return createStringError("CPU '" + target.cpu +
                             "' has no 64-bit mode: use native, x86-64-v3 or x86-64-v4");
  for (auto [llvmName, kernelName] : kInstructionSets)
    if (enabled.contains(llvmName))
      target.requiredFeatures.push_back(kernelName.str());
  bool avx512 = enabled.contains("avx512f") && enabled.contains("avx512vl") && enabled.contains("avx512bw") &&
                enabled.contains("avx512dq");
  target.vectorBits = avx512 ? 512 : enabled.contains("avx") ? 256 : 128;
  return target;
}

} // namespace tessera
