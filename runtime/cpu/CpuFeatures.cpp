#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace tessera::runtime {

void checkCpuFeatures(const Manifest &manifest) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> present;
  for (std::string line; present.empty() && std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      present.insert(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
  if (present.empty())
    return;
  std::string missing;
  for (const std::string &feature : manifest.cpuFeatures)
    if (!present.count(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty())
    throw Error("cannot run on this CPU", "compiled for --cpu=" + manifest.cpuName, "it lacks " + missing,
                "compile with --cpu=native on this machine, or with --cpu=x86-64-v3");
}

} // namespace tessera::runtime
