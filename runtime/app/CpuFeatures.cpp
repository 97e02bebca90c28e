#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace tessera::runtime {

// LLVM's name and /proc/cpuinfo's, of everything our code generation may use.
static constexpr std::pair<const char *, const char *> knownFeatures[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"fma", "fma"},
    {"f16c", "f16c"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"avxvnni", "avx_vnni"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"amx-tile", "amx_tile"},
    {"amx-bf16", "amx_bf16"},
    {"amx-int8", "amx_int8"},
    {"gfni", "gfni"}};

void checkCpuFeatures(const Manifest &manifest) {
  if (manifest.cpuFeatures.empty())
    return;
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> present;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      present.insert(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
      break;
    }
  if (present.empty())
    return;
  std::string missing;
  for (std::string feature : manifest.cpuFeatures) {
    if (!feature.empty() && feature[0] == '+')
      feature.erase(0, 1);
    for (auto &[name, flag] : knownFeatures)
      if (feature == name && !present.count(flag))
        missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (!missing.empty())
    throw Error("cannot run on this CPU", "compiled for --cpu=" + manifest.cpuName, "it lacks " + missing,
                "compile with --cpu=native on this machine, or with --cpu=x86-64-v3");
}

} // namespace tessera::runtime
