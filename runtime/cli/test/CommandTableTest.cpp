// Help, man pages and completions from one table.
#include "tessera/runtime/cli/CommandTable.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tessera::cli;

namespace {

const ProgramText twoCommands = {
    "tool",
    "does things",
    {{"paint",
      "paints it's [wall]",
      "WALL...",
      {{"--colour", "NAME", "of the paint: red"}, {"-o", "FILE", "to write"}},
      {"paint --colour=red"}},
     {"info", "says what it is", "", {{"--help", "man", "print this", true}}, {}}}};

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// What a shell prints that runs `script` in the empty folder `folder`, errors with it.
std::string printedBy(const std::string &shell, const std::string &script, const std::string &folder) {
  const std::string file = folder + ".script";
  std::ofstream(file) << script;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  FILE *pipe = popen(("cd '" + folder + "' && " + shell + " '" + file + "' 2>&1").c_str(), "r");
  std::string text;
  for (int c; pipe && (c = fgetc(pipe)) != EOF;)
    text += char(c);
  EXPECT_EQ(pipe ? pclose(pipe) : 1, 0) << script << text;
  std::filesystem::remove(file);
  return text;
}

bool isThere(const std::string &shell) {
  return system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

// Names that files may have, and that a shell would take apart or run where they stand bare.
const char *const namesOfFiles[] = {"tool",        "llm-compile",     "$(touch pwn)", "`touch pwn`",
                                    "a;touch pwn", "q'uote",          "sp ace",       "a\ntouch pwn",
                                    "back\\",      "\\';touch pwn;'", "a&b|c>d",      "*",
                                    "-dash",       "#hash",           "a=b"};

} // namespace

TEST(CommandTable, HelpNamesWhatThereIs) {
  const std::string whole = helpText(twoCommands), paint = helpText(twoCommands, &twoCommands.commands[0]),
                    info = helpText(twoCommands, &twoCommands.commands[1]);
  EXPECT_TRUE(has(whole, "\n  paint ")) << whole;
  EXPECT_TRUE(has(whole, "Examples:\n  tool paint --colour=red\n")) << whole;
  EXPECT_EQ(paint.compare(0, 27, "tool paint WALL... [flags]\n"), 0) << paint;
  EXPECT_TRUE(has(paint, "\n  --colour=NAME ")) << paint;
  EXPECT_TRUE(has(paint, "\n  -o FILE ")) << paint;
  EXPECT_TRUE(has(info, "\n  --help[=man] ")) << info;
  EXPECT_FALSE(has(info, "Examples")) << info;
}

TEST(CommandTable, LongTextsAreWrappedAtWords) {
  ProgramText program = {"t", "", {{"", "", "", {{"--a-very-long-name-of-a-flag", "VALUE", ""}}, {}}}};
  for (int i = 0; i < 40; ++i)
    program.commands[0].flags[0].help += "word ";
  const std::string text = helpText(program);
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    EXPECT_LE(text.find('\n', begin) - begin, 100u) << text;
}

TEST(CommandTable, ManPagesEscapeWhatRoffReads) {
  ProgramText program = {"t", "a-b", {{"", "", "", {{"--x", "", ".dot and \\back"}}, {"x"}}}};
  const std::string page = manPage(program);
  EXPECT_EQ(page.compare(0, 8, ".TH T 1\n"), 0) << page;
  EXPECT_TRUE(has(page, "\n\\fB\\-\\-x\\fR\n\\&.dot and \\eback\n")) << page;
}

TEST(CommandTable, EveryShellHearsOfEveryFlag) {
  for (const char *shell : shells) {
    const std::string text = *completionScript(twoCommands, shell);
    for (const char *word : {"paint", "info", "colour", "help"})
      EXPECT_TRUE(has(text, word)) << shell << word;
  }
  EXPECT_FALSE(completionScript(twoCommands, "tcsh"));
}

TEST(CommandTable, ShellsReadEveryNameAsItself) {
  const std::string folder = testing::TempDir() + "completion-of-names";
  ProgramText program = twoCommands;
  for (const char *name : namesOfFiles) {
    program.name = name;
    // Asked as bash asks, which looks for the function by the name.
    std::ofstream(folder + ".name") << name;
    const std::string asked = "\nname=$(<'" + folder + ".name')\n" +
                              "words=$(complete -p -- \"$name\") || exit 1\n"
                              "function=${words#*-F }; function=${function%% *}\n"
                              "COMP_WORDS=(\"$name\" paint --c) COMP_CWORD=2\n"
                              "$function 2>/dev/null; echo \"${COMPREPLY[@]}\"\n";
    EXPECT_EQ(printedBy("bash", *completionScript(program, "bash") + asked, folder), "--colour=\n") << name;
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << name;
    if (isThere("zsh")) {
      const std::string heard = "compdef() { print -rn -- \"$2\" }\n";
      const bool canBeSaid = program.name != "a=b" && program.name != "-dash";
      EXPECT_EQ(printedBy("zsh -f", heard + *completionScript(program, "zsh") + "true\n", folder),
                canBeSaid ? name : "");
      EXPECT_TRUE(std::filesystem::is_empty(folder)) << name;
    }
    if (isThere("fish")) {
      const std::string asks =
          "set name (string collect < '" + folder + ".name')\n" +
          "complete --do-complete=(string escape -- $name | string collect)' paint --c'\n";
      const std::string said =
          printedBy("fish --no-config", *completionScript(program, "fish") + asks, folder);
      if (program.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz- ") == std::string::npos)
        EXPECT_EQ(said, "--colour\tof the paint: red\n") << name;
      else // fish itself finds nothing by some names
        EXPECT_EQ(said.find("omplete:"), std::string::npos) << said;
      EXPECT_TRUE(std::filesystem::is_empty(folder)) << name;
    }
  }
  std::filesystem::remove(folder + ".name");
  std::filesystem::remove(folder);
  // In fish a backslash takes the meaning of what is behind it also within quotes, whether or not it is here.
  program.name = "back\\";
  EXPECT_TRUE(has(*completionScript(program, "fish"), "complete -c 'back\\\\\\\\' "));
  EXPECT_TRUE(has(*completionScript(program, "fish"), "'paints it\\'s [wall]'"));
  // The first line of a file in zsh's $fpath is cut into words.
  program.name = "tool";
  EXPECT_EQ(completionScript(program, "zsh")->rfind("#compdef tool\n", 0), 0u);
  program.name = "sp ace";
  EXPECT_FALSE(has(*completionScript(program, "zsh"), "#compdef"));
}

TEST(CommandTable, WhatCanBeChosenIsCompleted) {
  const std::string folder = testing::TempDir() + "completion-of-choices";
  ProgramText program = twoCommands;
  program.commands[0].flags.push_back({"--finish", "matt|gloss|q8_0", "how it ends"});
  program.commands[0].flags.push_back({"--from", "NAME|FILE", "where"});
  const std::string bash = *completionScript(program, "bash"), zsh = *completionScript(program, "zsh"),
                    fish = *completionScript(program, "fish");
  auto completed = [&](const std::string &words, int last) {
    const std::string asks = "COMP_WORDS=(tool " + words + ") COMP_CWORD=" + std::to_string(last) + "\n" +
                             "_tool 2>/dev/null; echo \"${COMPREPLY[@]}\"\n";
    return printedBy("bash", bash + asks, folder);
  };
  EXPECT_EQ(completed("paint --finish =", 3), "matt gloss q8_0\n");
  EXPECT_EQ(completed("paint --finish = g", 4), "gloss\n");
  EXPECT_EQ(completed("paint --finish m", 3), "matt\n");
  EXPECT_EQ(completed("paint --from = ''", 4), "\n");
  EXPECT_EQ(completed("help ''", 2), "paint info help\n");
  EXPECT_EQ(completed("help in", 2), "info\n");
  EXPECT_EQ(completed("help info ''", 3), "\n"); // it takes one
  EXPECT_TRUE(has(zsh, ":matt|gloss|q8_0:(matt gloss q8_0)'")) << zsh;
  EXPECT_TRUE(has(zsh, ":NAME|FILE:'")) << zsh;
  EXPECT_TRUE(has(zsh, "    help) (( CURRENT == 2 )) && _describe command commands ;;\n")) << zsh;
  EXPECT_TRUE(has(fish, " -l finish -x -a 'matt gloss q8_0' -d ")) << fish;
  EXPECT_TRUE(has(fish, " -n '__fish_seen_subcommand_from help' -f -a 'paint info help'\n")) << fish;
  std::filesystem::remove(folder);
}

TEST(CommandTable, ValuesThatAreFilesOrFoldersCompletePaths) {
  ProgramText program = {"t", "", {{"run", "", "", {}, {}}}};
  for (const char *value : {"FILE.json", "DIR", "PATH", "OUT", "LOG", "MODEL", "NAME"})
    program.commands[0].flags.push_back({std::string("--") + value, value, "help"});
  const std::string bash = *completionScript(program, "bash"), zsh = *completionScript(program, "zsh"),
                    fish = *completionScript(program, "fish");
  EXPECT_TRUE(has(bash, "paths=' --FILE.json --DIR --PATH --OUT --LOG --MODEL '")) << bash;
  for (const FlagText &flag : program.commands[0].flags) {
    const bool isPath = flag.value != "NAME";
    EXPECT_EQ(has(zsh, ":" + flag.value + ":_files'"), isPath) << zsh;
    EXPECT_EQ(has(fish, " -l " + flag.value + " -r -F"), isPath) << fish;
  }
}

TEST(CommandTable, ABeginningIsNearerThanASlip) {
  EXPECT_EQ(nearestOf("--temp", {"--help", "--template-arg", "--temperature"}), "--temperature");
  EXPECT_EQ(nearestOf("--top", {"--stop", "--top-k"}), "--top-k");
  EXPECT_EQ(nearestOf("gen", {"generate"}), "generate");
  EXPECT_EQ(nearestOf("--t", {"--temperature"}), ""); // who knows
}

TEST(CommandTable, SlipsOfTheFingerHaveANeighbour) {
  EXPECT_EQ(nearestOf("--colr", {"--help", "--colour"}), "--colour");
  EXPECT_EQ(nearestOf("--frobnicate", {"--help", "--colour"}), "");
  EXPECT_EQ(nearestOf("chut", {"chat"}), "chat");
  EXPECT_EQ(nearestOf("-colour", {"--help", "--colour"}), "--colour");
  EXPECT_EQ(nearestOf("--lpan", {"--plan"}), "--plan");   // one slip, two letters
  EXPECT_EQ(nearestOf("--tp", {"--cpu", "--top-p"}), ""); // dashes are no likeness
  EXPECT_EQ(nearestOf("--", {"--help"}), "");
  EXPECT_EQ(nearestOf("", {"--help"}), "");
  EXPECT_EQ(nearestOf("chxx", {"chat"}), ""); // half of it is another word
}
