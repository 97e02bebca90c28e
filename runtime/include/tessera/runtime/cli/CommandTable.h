// What a program's command line is, as text: its help, its man page and the completions of shells are written
// from the same table that its parser reads.
#ifndef TESSERA_RUNTIME_CLI_COMMANDTABLE_H
#define TESSERA_RUNTIME_CLI_COMMANDTABLE_H

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

// What --version says.
inline constexpr const char *version = "0.1";

struct FlagText {
  std::string name, value, help; // "--lr", "X", "peak learning rate"; no value: it takes none
  bool mayStandAlone = false;    // its value may be missing: --help[=man]
};

struct CommandText {
  std::string name, help, arguments; // arguments: what stands before the flags; may be empty
  std::vector<FlagText> flags;
  std::vector<std::string> examples; // behind the program's name
};

// A program with commands, or with flags alone: then it has one command without a name.
struct ProgramText {
  std::string name, summary;
  std::vector<CommandText> commands;

  bool hasCommands() const { return !commands.front().name.empty(); }
};

// The help of one command; null: of the whole program.
std::string helpText(const ProgramText &program, const CommandText *command = nullptr);
// For `man`, in roff.
std::string manPage(const ProgramText &program);
// A script that completes commands and flags in this shell; none: there is no such shell here.
std::optional<std::string> completionScript(const ProgramText &program, const std::string &shell);
inline constexpr const char *shells[] = {"bash", "zsh", "fish"};

// The shortest of `known` that begins with `word`, else the one that `word` may be a slip of, dashes in front
// aside; empty: none is near. Cost: O(letters of `word` and of all known ones, multiplied).
std::string nearestOf(const std::string &word, const std::vector<std::string> &known);

} // namespace tessera::cli
#endif
