// The table of flags: parser and help in one.
#ifndef TESSERA_RUNTIME_APP_FLAGS_H
#define TESSERA_RUNTIME_APP_FLAGS_H

#include "Options.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct FlagInfo {
  const char *name;
  const char *value; // how the help calls it; null: the flag has none
  const char *help;
  std::vector<Options::Command> commands;
  std::function<void(Options &, const std::string &flag, const std::string &value)> read;
  bool ofDraws = false; // says how tokens are drawn
  bool several = false; // each time one more
  bool hidden = false;  // known, and refused: no help names it

  bool belongsTo(Options::Command command) const {
    return std::find(commands.begin(), commands.end(), command) != commands.end();
  }
  std::string spelling() const { return std::string(name) + (value ? std::string("=") + value : ""); }
};

// Those of all commands. What ranks must agree on of each: runtime/test/TermsTest.cpp.
const std::vector<FlagInfo> &flagTable();
// Those of train alone.
std::vector<FlagInfo> trainFlags();
// What no single flag of train can see. Throws Error.
void checkTrainOptions(const TrainOptions &options);
// What of them decides the numbers, and what the ranks do together.
std::string whatIsTrained(const TrainOptions &options);

} // namespace tessera::runtime
#endif
