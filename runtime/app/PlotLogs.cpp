#include "PlotLogs.h"

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/OutputFile.h"
#include "tessera/runtime/plot/Plot.h"

namespace tessera::runtime {

void plotLogs(const std::vector<std::string> &logs, const std::string &file) {
  std::vector<plot::NamedLog> runs;
  std::vector<std::string> names = plot::shortNames(logs);
  for (size_t i = 0; i < logs.size(); ++i) {
    runs.push_back({names[i], take(train::readLog(logs[i]))});
  }
  std::string page = plot::plotPage(runs);
  io::OutputFile out(file, "cannot write the page");
  check(out.open());
  check(out.write(page.data(), page.size()));
  check(out.finish());
}

} // namespace tessera::runtime
