// OUT plot.
#ifndef TESSERA_RUNTIME_APP_PLOTLOGS_H
#define TESSERA_RUNTIME_APP_PLOTLOGS_H

#include <string>
#include <vector>

namespace tessera::runtime {

// Writes the logs as one page, which has its name once it is whole. Throws Error on what is no log, before
// anything is written.
void plotLogs(const std::vector<std::string> &logs, const std::string &file);

} // namespace tessera::runtime
#endif
