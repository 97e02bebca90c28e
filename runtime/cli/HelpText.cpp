#include "tessera/runtime/cli/CommandTable.h"

#include <algorithm>

namespace tessera::cli {

// Wrapped at the words, and never beyond 100 columns where words are shorter.
static std::string row(const std::string &left, const std::string &right) {
  constexpr size_t column = 28, width = 100;
  std::string text = "  " + left;
  if (text.size() + 1 > column)
    text += "\n" + std::string(column, ' ');
  else
    text.resize(column, ' ');
  size_t at = column;
  for (size_t begin = 0; begin < right.size();) {
    const size_t end = std::min(right.find(' ', begin), right.size());
    const std::string word = right.substr(begin, end - begin);
    if (at > column && at + 1 + word.size() > width) {
      text += "\n" + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      text += ' ';
      ++at;
    }
    text += word;
    at += word.size();
    begin = end + 1;
  }
  return text + "\n";
}

static std::string spelling(const FlagText &flag) {
  if (flag.value.empty())
    return flag.name;
  if (flag.name.size() == 2) // -o OUT
    return flag.name + " " + flag.value;
  return flag.name + (flag.mayStandAlone ? "[=" + flag.value + "]" : "=" + flag.value);
}

std::string helpText(const ProgramText &program, const CommandText *command) {
  const bool isWhole = !command && program.hasCommands();
  if (!command && !isWhole)
    command = &program.commands.front();
  std::string text = program.name;
  if (isWhole)
    text += " COMMAND";
  else if (!command->name.empty())
    text += " " + command->name;
  if (command && !command->arguments.empty())
    text += " " + command->arguments;
  text += " [flags]\n" + (command && !command->help.empty() ? command->help : program.summary) + "\n\n";
  if (isWhole) {
    for (const CommandText &one : program.commands)
      text += row(one.name, one.help);
    text += row("help [COMMAND]", "prints this, or the flags of a command");
    text += "\n  --help, --version and --completion=bash|zsh|fish stand alone or behind a command.\n";
  } else {
    for (const FlagText &flag : command->flags)
      text += row(spelling(flag), flag.help);
    text += "\n`--flag VALUE` is `--flag=VALUE`.\n";
  }
  std::string examples;
  for (const CommandText &one : program.commands)
    if (isWhole ? !one.examples.empty() : &one == command)
      for (size_t i = 0; i < (isWhole ? 1 : one.examples.size()); ++i)
        examples += "  " + program.name + " " + one.examples[i] + "\n";
  return text + (examples.empty() ? "" : "\nExamples:\n" + examples);
}

} // namespace tessera::cli
