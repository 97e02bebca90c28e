#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace tessera::runtime {

CpuSection readCpuSection(const Manifest &manifest) {
  CpuSection section;
  readSection(manifest, [&](Fields &fields) {
    section.name = fields.get<std::string>("name", "");
    section.features = fields.get("features", std::vector<std::string>());
  });
  return section;
}

std::string missingCpuFeatures(const Manifest &manifest) {
  CpuSection section = readCpuSection(manifest);
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> present;
  for (std::string line; present.empty() && std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      present.insert(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
  if (present.empty())
    return "";
  std::string missing;
  for (const std::string &feature : section.features)
    if (!present.count(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  return missing;
}

void checkCpuFeatures(const Manifest &manifest) {
  const std::string name = readCpuSection(manifest).name, plainest = "x86-64-v3";
  if (const std::string missing = missingCpuFeatures(manifest); !missing.empty())
    throw Error("cannot run on this CPU", "compiled for --cpu=" + name, "it lacks " + missing,
                "compile with --cpu=native on this machine" +
                    (name == plainest ? "" : ", or with --cpu=" + plainest));
}

} // namespace tessera::runtime
