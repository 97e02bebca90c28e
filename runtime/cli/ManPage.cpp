#include "tessera/runtime/cli/CommandTable.h"

#include <algorithm>
#include <cctype>

namespace tessera::cli {

// What roff reads as itself: a backslash and what begins a line would be commands, a plain `-` is no minus.
static std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

static std::string flagOf(const FlagText &flag) {
  std::string text = ".TP\n\\fB" + escaped(flag.name) + "\\fR";
  if (!flag.value.empty()) {
    const std::string value = "\\fI" + escaped(flag.value) + "\\fR";
    if (flag.name.size() == 2)
      text += " " + value;
    else
      text += flag.mayStandAlone ? "[=" + value + "]" : "=" + value;
  }
  return text + "\n" + escaped(flag.help) + "\n";
}

std::string manPage(const ProgramText &program) {
  std::string title = program.name;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string text = ".TH " + title + " 1\n.SH NAME\n" + escaped(program.name) + " \\- " +
                     escaped(program.summary) + "\n.SH SYNOPSIS\n";
  for (const CommandText &command : program.commands) {
    text += ".B " + escaped(program.name + (command.name.empty() ? "" : " " + command.name)) + "\n";
    if (!command.arguments.empty())
      text += ".I " + escaped(command.arguments) + "\n";
    text += "[flags]\n.br\n";
  }
  for (const CommandText &command : program.commands) {
    if (command.name.empty())
      text += ".SH OPTIONS\n";
    else
      text += ".SH " + escaped(command.name) + "\n" +
              escaped(program.name + " " + command.name + " " + command.help) + ".\n";
    for (const FlagText &flag : command.flags)
      text += flagOf(flag);
    if (command.examples.empty())
      continue;
    text += ".PP\n.nf\n";
    for (const std::string &example : command.examples)
      text += escaped(program.name + " " + example) + "\n";
    text += ".fi\n";
  }
  return text;
}

} // namespace tessera::cli
