// The table of flags: parser and help in one.
#ifndef TESSERA_RUNTIME_APP_FLAGS_H
#define TESSERA_RUNTIME_APP_FLAGS_H

#include "Options.h"
#include "tessera/runtime/cli/CommandTable.h"

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
  bool ofDraws = false;       // says how tokens are drawn
  bool several = false;       // each time one more
  bool hidden = false;        // known, and refused: no help names it
  bool mayStandAlone = false; // without its value
  const char *with = nullptr; // another flag that it needs in commands which have that one

  bool belongsTo(Options::Command command) const {
    return std::find(commands.begin(), commands.end(), command) != commands.end();
  }
};

// What stands behind a program's name.
struct Example {
  const char *text;
  Options::Command of; // it is one of programs that have this command
};

struct CommandInfo {
  Options::Command command;
  const char *name, *help;
  const char *arguments; // what stands behind it besides flags; null: nothing
  std::vector<Example> examples;
};

const std::vector<CommandInfo> &commandTable();

// Those of all commands. What ranks must agree on of each: runtime/test/TermsTest.cpp.
const std::vector<FlagInfo> &flagTable();
// The same as text, of a program that is called `name`, with the examples of commands that it has; null: it
// has all.
cli::ProgramText programText(const std::string &name,
                             const std::function<bool(Options::Command)> &has = nullptr);

// Those of generate and chat.
std::vector<FlagInfo> generateFlags();
// What no single one of them can see. Throws Error.
void checkGenerateOptions(const Options &options);
// What of them decides the numbers, and what the ranks do together.
std::string whatIsGenerated(const Options &options);
// Those of train alone.
std::vector<FlagInfo> trainFlags();
// What no single flag of train can see. Throws Error.
void checkTrainOptions(const TrainOptions &options);
// What of them decides the numbers, and what the ranks do together.
std::string whatIsTrained(const TrainOptions &options);

} // namespace tessera::runtime
#endif
