// OUT info.
#ifndef TESSERA_RUNTIME_APP_REPORT_H
#define TESSERA_RUNTIME_APP_REPORT_H

#include "tessera/runtime/device/Rank.h"

#include <string>

namespace tessera::runtime {

// What the program is and needs: one line of JSON, or a page for people. Starts nothing.
std::string describeProgram(const ts_program &program, const Manifest &manifest, bool json);

} // namespace tessera::runtime
#endif
