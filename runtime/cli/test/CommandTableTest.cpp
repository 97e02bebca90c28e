// Help, man pages and completions from one table.
#include "tessera/runtime/cli/CommandTable.h"

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

TEST(CommandTable, SlipsOfTheFingerHaveANeighbour) {
  EXPECT_EQ(nearestOf("--colr", {"--help", "--colour"}), "--colour");
  EXPECT_EQ(nearestOf("--frobnicate", {"--help", "--colour"}), "");
  EXPECT_EQ(nearestOf("chut", {"chat"}), "chat");
  EXPECT_EQ(nearestOf("chxx", {"chat"}), ""); // half of it is another word
}
