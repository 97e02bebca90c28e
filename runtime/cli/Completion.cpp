#include "tessera/runtime/cli/CommandTable.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tessera::cli {

// In single quotes, as bash and zsh read it.
static std::string shellQuoted(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// In single quotes, as fish reads it: there a backslash takes the meaning of a quote or of another one.
static std::string fishQuoted(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

// A name that every shell reads as itself, in a comment that zsh cuts into words, too.
static bool isPlainWord(const std::string &name) {
  for (char c : name)
    if (!std::isalnum((unsigned char)c) && c != '_' && c != '-' && c != '.' && c != '+')
      return false;
  return !name.empty() && name[0] != '-' && name[0] != '+';
}

// A name that functions of shells may have.
static std::string identifier(const std::string &name) {
  std::string out = "_";
  for (char c : name)
    out += std::isalnum((unsigned char)c) ? c : '_';
  return out;
}

// Values that are files or folders.
static bool isPath(const FlagText &flag) {
  for (const char *word : {"FILE", "DIR", "PATH", "OUT", "LOG", "MODEL"})
    if (flag.value.compare(0, std::string(word).size(), word) == 0)
      return true;
  return false;
}

// What `matt|gloss` lets one choose from; nothing where a part stands for others, as NAME and X do.
static std::string choices(const FlagText &flag) {
  std::string out = flag.value;
  std::replace(out.begin(), out.end(), '|', ' ');
  const bool areWords = std::none_of(out.begin(), out.end(), [](unsigned char c) {
    return !std::islower(c) && !std::isdigit(c) && c != ' ' && c != '_' && c != '-';
  });
  return areWords && out != flag.value ? out : "";
}

static std::string wordOf(const FlagText &flag) {
  return flag.name + (flag.value.empty() || flag.mayStandAlone || flag.name.size() == 2 ? "" : "=");
}

static std::string names(const CommandText &command, bool onlyPaths) {
  std::string out;
  for (const FlagText &flag : command.flags)
    if (!onlyPaths || isPath(flag))
      out += (out.empty() ? "" : " ") + (onlyPaths ? flag.name : wordOf(flag));
  return out;
}

static std::string commandNames(const ProgramText &program) {
  std::string out;
  if (program.hasCommands())
    for (const CommandText &command : program.commands)
      out += command.name + " ";
  return out + "help";
}

// Of every flag with choices the branch of a `case`.
static std::string bashChoices(const ProgramText &program) {
  std::map<std::string, std::string> words; // of several commands the same
  for (const CommandText &command : program.commands)
    for (const FlagText &flag : command.flags)
      if (!choices(flag).empty())
        words[flag.name] = choices(flag);
  std::string out;
  for (const auto &[name, of] : words)
    out += "    " + name + ") COMPREPLY=($(compgen -W " + shellQuoted(of) + " -- \"$word\")); return ;;\n";
  return out.empty() ? "" : "  case $before in\n" + out + "  esac\n";
}

// Bash cuts words at `=`: a value stands two words behind its flag.
static std::string bash(const ProgramText &program) {
  const std::string function = identifier(program.name);
  std::string cases;
  for (const CommandText &command : program.commands)
    cases += "    " + (command.name.empty() ? std::string("*") : command.name) +
             ") flags=" + shellQuoted(names(command, false)) +
             " paths=" + shellQuoted(" " + names(command, true) + " ") + " ;;\n";
  std::string text =
      function + "() {\n"
                 "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= paths=\n"
                 "  COMPREPLY=()\n"
                 "  if [ \"$word\" = = ]; then word=; elif [ \"$before\" = = ]; then "
                 "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n";
  if (program.hasCommands())
    text += "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
            "    COMPREPLY=($(compgen -W " +
            shellQuoted(commandNames(program) + " --help --version --completion=") +
            " -- \"$word\"))\n    return\n  fi\n"
            "  if [ \"${COMP_WORDS[1]}\" = help ]; then\n"
            "    [ \"$COMP_CWORD\" = 2 ] && COMPREPLY=($(compgen -W " +
            shellQuoted(commandNames(program)) + " -- \"$word\"))\n    return\n  fi\n";
  text += bashChoices(program);
  text += "  case ${COMP_WORDS[1]} in\n" + cases +
          "  esac\n"
          "  case $paths in *\" $before \"*) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac\n"
          "  case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")); [[ ${COMPREPLY[0]} == *= ]] && compopt "
          "-o nospace ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "  esac\n}\n";
  return text + "complete -o filenames -F " + function + " -- " + shellQuoted(program.name) + "\n";
}

// What stands in brackets and behind colons must not hold any.
static std::string zshText(const std::string &help) {
  std::string out;
  for (char c : help)
    out += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

static std::string zshFlags(const CommandText &command) {
  std::string out;
  for (const FlagText &flag : command.flags) {
    std::string text =
        "*" + wordOf(flag) + (wordOf(flag).back() == '=' ? "-" : "") + "[" + zshText(flag.help) + "]";
    if (!flag.value.empty() && !flag.mayStandAlone)
      text += ":" + zshText(flag.value) + ":" +
              (isPath(flag)             ? "_files"
               : !choices(flag).empty() ? "(" + choices(flag) + ")"
                                        : "");
    out += " \\\n      " + shellQuoted(text);
  }
  return out + " \\\n      '*:file:_files'";
}

static std::string zsh(const ProgramText &program) {
  const std::string function = identifier(program.name);
  // A file in $fpath says with its first line what it completes; who reads the script asks `compdef` below.
  std::string text = isPlainWord(program.name) ? "#compdef " + program.name + "\n" : "";
  text += function + "() {\n";
  if (program.hasCommands()) {
    text += "  local -a commands=(\n";
    for (const CommandText &command : program.commands)
      text += "    " + shellQuoted(command.name + ":" + command.help) + "\n";
    text += "    'help:prints help'\n  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    "
            "return\n  fi\n"
            "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
    text += "    help) (( CURRENT == 2 )) && _describe command commands ;;\n";
    for (const CommandText &command : program.commands)
      text += "    " + command.name + ") _arguments" + zshFlags(command) + " ;;\n";
    text += "  esac\n";
  } else {
    text += "  _arguments" + zshFlags(program.commands.front()) + "\n";
  }
  text += "}\n";
  // `compdef` has no spelling for names with `=`, nor for those that look like its flags.
  if (program.name.find('=') == std::string::npos && program.name[0] != '-')
    text += "(( $+functions[compdef] )) && compdef " + function + " " + shellQuoted(program.name) + "\n";
  return text;
}

static std::string fish(const ProgramText &program) {
  // Behind -c fish looks at backslashes once more than in other words.
  std::string name;
  for (char c : program.name)
    name += std::string(c == '\\' ? 2 : 1, c);
  const std::string start = "complete -c " + fishQuoted(name);
  std::string text;
  if (program.hasCommands())
    text +=
        start + " -n '__fish_seen_subcommand_from help' -f -a " + fishQuoted(commandNames(program)) + "\n";
  for (const CommandText &command : program.commands) {
    std::string when;
    if (program.hasCommands()) {
      text += start + " -n __fish_use_subcommand -f -a " + fishQuoted(command.name) + " -d " +
              fishQuoted(command.help) + "\n";
      when = " -n " + fishQuoted("__fish_seen_subcommand_from " + command.name);
    }
    for (const FlagText &flag : command.flags) {
      const bool isShort = flag.name.size() == 2;
      text += start + when + (isShort ? " -s " : " -l ") + flag.name.substr(isShort ? 1 : 2);
      if (!flag.value.empty() && !flag.mayStandAlone)
        text += isPath(flag) ? " -r -F" : " -x";
      if (!choices(flag).empty())
        text += " -a " + fishQuoted(choices(flag));
      text += " -d " + fishQuoted(flag.help) + "\n";
    }
  }
  return text;
}

std::optional<std::string> completionScript(const ProgramText &program, const std::string &shell) {
  if (shell == "bash")
    return bash(program);
  if (shell == "zsh")
    return zsh(program);
  if (shell == "fish")
    return fish(program);
  return std::nullopt;
}

} // namespace tessera::cli
