// The command line of executables: values, help, and what mistakes are told.
#include "Options.h"
#include "tessera/runtime/core/Error.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace tessera::runtime;
using Command = Options::Command;

namespace {

Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), "OUT");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return parseOptions(int(argv.size()), argv.data());
}

std::string problem(const std::vector<std::string> &words) {
  try {
    parse(words);
  } catch (const Error &e) {
    return e.what();
  }
  return "accepted";
}

void expectProblem(const std::vector<std::string> &words, const std::string &part) {
  std::string message = problem(words);
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

} // namespace

TEST(Options, EveryFlagOfGenerate) {
  Options o = parse({"generate", "--prompt=a=b", "--tokens=1,2", "--stop=x", "--stop", "y z", "--quiet",
                     "--max-new-tokens=7", "--temperature=0.5", "--top-p=0.9", "--top-k=40", "--min-p=0.05",
                     "--repeat-penalty=1.1", "--seed=18446744073709551615", "--print-tokens", "--logits=f",
                     "--model=m", "--threads=3"});
  EXPECT_EQ(o.command, Command::Generate);
  ASSERT_EQ(o.prompts.size(), 2u);
  EXPECT_TRUE(o.prompts[0].isText);
  EXPECT_EQ(o.prompts[0].text, "a=b");
  EXPECT_EQ(o.prompts[1].tokens, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(o.maxNewTokens, 7);
  EXPECT_EQ(o.temperature, 0.5);
  EXPECT_EQ(o.topP, 0.9);
  EXPECT_EQ(o.topK, 40);
  EXPECT_EQ(o.minP, 0.05);
  EXPECT_EQ(o.repeatPenalty, 1.1);
  EXPECT_EQ(o.seed, UINT64_MAX);
  EXPECT_TRUE(o.printTokens);
  EXPECT_EQ(o.logitsFile, "f");
  EXPECT_EQ(o.stops, (std::vector<std::string>{"x", "y z"}));
  EXPECT_TRUE(o.quiet);
  EXPECT_FALSE(o.json || o.chat);
  EXPECT_EQ(o.model, "m");
  EXPECT_EQ(o.threads, 3);
  EXPECT_EQ(parse({"generate", "--tokens=1", "--init=random:4"}).initSeed, 4u);
}

TEST(Options, ConversationsHaveWordsOfTheirOwn) {
  Options o = parse({"generate", "--chat", "--prompt=a", "--system=", "--template-arg=enable_thinking=false",
                     "--template-arg", "x=a=b", "--json"});
  EXPECT_TRUE(o.chat && o.json);
  EXPECT_EQ(o.system, "");
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(o.templateArguments, (Arguments{{"enable_thinking", "false"}, {"x", "a=b"}}));
  EXPECT_EQ(parse({"chat", "--system=s"}).command, Command::Chat);
  expectProblem({"generate", "--prompt=a", "--system=s"},
                "(--system=s): a prompt is no conversation; add --chat");
  expectProblem({"generate", "--prompt=a", "--template-arg=a=1"}, "no chat template is applied; add --chat");
  expectProblem({"generate", "--chat", "--tokens=1"}, "ids are no message");
  expectProblem({"generate", "--chat", "--prompt=a", "--template-arg=a"},
                "(--template-arg=a): it names no value");
  expectProblem({"chat", "--template-arg=a=1", "--template-arg=a=2"}, "a is given twice");
  expectProblem({"generate", "--prompt=a", "--stop="}, "(--stop=): it is empty");
  expectProblem({"generate", "--prompt=a", "--json", "--print-tokens"}, "the lines of --json have the ids");
  for (const char *flag : {"--tokens=1", "--prompt-file=f", "--json", "--logits=f", "--chat"})
    expectProblem({"chat", flag}, "chat has no such flag");
}

TEST(Options, PromptsOfAFileStandInItsPlace) {
  const std::string path = testing::TempDir() + "prompts";
  auto read = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary) << content;
    Options o = parse({"generate", "--prompt=a", "--prompt-file=" + path, "--prompt=z"});
    std::vector<std::string> texts;
    try {
      readPromptFiles(o);
    } catch (const Error &e) {
      return std::vector<std::string>{e.what()};
    }
    for (const Prompt &prompt : o.prompts)
      texts.push_back(prompt.text);
    return texts;
  };
  EXPECT_EQ(read("one\n two \r\nthree"), (std::vector<std::string>{"a", "one", " two ", "three", "z"}));
  EXPECT_EQ(read("one\n"), (std::vector<std::string>{"a", "one", "z"}));
  // Windows' editors put U+FEFF in front of a text; elsewhere it is what somebody wrote.
  EXPECT_EQ(read("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"),
            (std::vector<std::string>{"a", "one", "\xEF\xBB\xBFtwo", "z"}));
  EXPECT_NE(read("one\n\nthree\n").front().find("line 2): it is empty"), std::string::npos);
  EXPECT_NE(read("one\n\n\nfour\n\n").front().find("line 2): it is empty"), std::string::npos);
  EXPECT_NE(read("\r\n\n").front().find("line 1): it is empty"), std::string::npos);
  // Editors leave empty lines at the end of a text.
  EXPECT_EQ(read("one\n\n"), (std::vector<std::string>{"a", "one", "z"}));
  EXPECT_EQ(read("one\r\ntwo\r\n\r\n\n"), (std::vector<std::string>{"a", "one", "two", "z"}));
  EXPECT_NE(read("").front().find("it has no line"), std::string::npos);
  Options endless = parse({"generate", "--prompt-file=/dev/zero"});
  try {
    readPromptFiles(endless);
    ADD_FAILURE() << "a device without an end was read";
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("(/dev/zero, line 1): the prompts take more than 256 MiB"),
              std::string::npos)
        << e.what();
  }
  Options missing = parse({"generate", "--prompt-file=/nonexistent/prompts"});
  EXPECT_THROW(readPromptFiles(missing), Error);
}

TEST(Options, WeightsAreReadOrMadeUp) {
  for (const char *command : {"generate", "bench"}) {
    std::vector<std::string> words = {command, "--init=random:0", "--model=/nonexistent"};
    if (command == std::string("generate"))
      words.push_back("--tokens=1");
    expectProblem(words, "(--model=/nonexistent --init=random:0): weights are read or made up, not both");
  }
}

TEST(Options, BenchAndInfo) {
  Options bench = parse({"bench", "--json", "--prompt-len=9", "--decode=4"}),
          info = parse({"info", "--json"});
  EXPECT_EQ(bench.command, Command::Bench);
  EXPECT_TRUE(bench.json && info.json);
  EXPECT_EQ(bench.promptLength, 9);
  EXPECT_EQ(bench.decodeSteps, 4);
  EXPECT_EQ(info.command, Command::Info);
  EXPECT_FALSE(parse({"info"}).json);
}

TEST(Options, PlotTakesLogsAndAPage) {
  Options o = parse({"plot", "a.jsonl", "runs/b.jsonl", "-o", "page.html", "c"});
  EXPECT_EQ(o.command, Command::Plot);
  EXPECT_EQ(o.logs, (std::vector<std::string>{"a.jsonl", "runs/b.jsonl", "c"}));
  EXPECT_EQ(o.plotFile, "page.html");
  EXPECT_EQ(parse({"plot", "-o=p", "a"}).plotFile, "p");
  expectProblem({"plot", "-o", "p"}, "cannot plot: no log was given; write plot LOG... -o FILE.html");
  expectProblem({"plot", "a"}, "cannot plot (a): no page was named; add -o FILE.html");
  expectProblem({"plot", "a", "--json"}, "plot has no such flag");
  expectProblem({"plot", "a", "-o"}, "it has no value");
  EXPECT_NE(parse({"plot", "--help"}).text.find("OUT plot LOG... [flags]"), std::string::npos);
  expectProblem({"generate", "a"}, "generate takes flags alone");
}

TEST(Options, ValuesMayStandApart) {
  Options o = parse({"generate", "--prompt", "--json", "--seed", "9", "--temperature", "1", "--tokens", "-1",
                     "--print-tokens"});
  ASSERT_EQ(o.prompts.size(), 2u);
  EXPECT_EQ(o.prompts[0].text, "--json"); // a value, whatever it looks like
  EXPECT_EQ(o.prompts[1].tokens, std::vector<int32_t>{-1});
  EXPECT_EQ(o.seed, 9u);
  EXPECT_TRUE(o.printTokens);
  expectProblem({"generate", "--prompt"}, "(--prompt): it has no value; write --prompt=TEXT");
  expectProblem({"--completion"}, "(--completion): it has no value; write --completion=bash|zsh|fish");
  expectProblem({"plot", "log", "-o"}, "(-o): it has no value; write -o FILE.html");
  EXPECT_EQ(parse({"generate", "--prompt="}).prompts[0].text, "");
}

TEST(Options, HelpIsNoError) {
  for (const char *word : {"--help", "-h", "help"}) {
    Options o = parse({word});
    EXPECT_EQ(o.command, Command::Text);
    for (const char *command : {"generate", "chat", "bench", "info"})
      EXPECT_NE(o.text.find(std::string("\n  ") + command + " "), std::string::npos) << o.text;
  }
  for (std::vector<std::string> words : {std::vector<std::string>{"bench", "--help"},
                                         {"bench", "-h"},
                                         {"help", "bench"},
                                         {"--help", "bench", "--prompt=x"},
                                         {"-h", "bench", "--json"},
                                         {"bench", "--decode=4", "--help"}}) {
    Options o = parse(words);
    EXPECT_EQ(o.command, Command::Text);
    for (const char *flag : {"--prompt-len=N ", "--decode=N ", "--json ", "--model=PATH ",
                             "--init=random:SEED ", "--threads=N ", "--help[=man] "})
      EXPECT_NE(o.text.find(std::string("\n  ") + flag), std::string::npos) << flag << o.text;
    EXPECT_EQ(o.text.find("--temperature"), std::string::npos);
  }
  EXPECT_NE(parse({"generate", "--help"}).text.find("--top-p=P "), std::string::npos);
  EXPECT_NE(parse({"generate", "--help"}).text.find("begins with (with --chat)\n"), std::string::npos);
  EXPECT_EQ(parse({"chat", "--help"}).text.find("--chat"), std::string::npos);
}

// Each example can be run by the program that shows it.
TEST(Options, HelpShowsExamplesOfCommandsThatTheProgramHas) {
  auto examples = [](std::vector<const char *> words, Command missing, Command alsoMissing) {
    words.insert(words.begin(), "OUT");
    const std::string text =
        parseOptions(int(words.size()), const_cast<char **>(words.data()), [&](Command command) {
          return command != missing && command != alsoMissing;
        }).text;
    return text.substr(std::min(text.find("\nExamples:\n"), text.size()));
  };
  const std::string generates = examples({"--help"}, Command::Train, Command::Train),
                    trains = examples({"--help"}, Command::Generate, Command::Chat);
  for (const char *line : {"OUT generate ", "OUT chat\n", "OUT bench --prompt-len="}) {
    EXPECT_NE(generates.find(line), std::string::npos) << generates;
    EXPECT_EQ(trains.find(line), std::string::npos) << trains;
  }
  for (const char *line : {"OUT train --data=", "OUT bench --json\n"}) {
    EXPECT_EQ(generates.find(line), std::string::npos) << generates;
    EXPECT_NE(trains.find(line), std::string::npos) << trains;
  }
  EXPECT_NE(trains.find("OUT plot "), std::string::npos) << trains;
  EXPECT_EQ(examples({"train", "--help"}, Command::Train, Command::Train), "");
  EXPECT_EQ(examples({"help", "chat"}, Command::Generate, Command::Chat), "");
}

TEST(Options, VersionCompletionAndManPageStandAnywhere) {
  EXPECT_EQ(parse({"--version"}).text.compare(0, 8, "Tessera "), 0);
  EXPECT_EQ(parse({"info", "--version"}).text, parse({"--version"}).text);
  for (const char *shell : {"bash", "zsh", "fish"})
    EXPECT_NE(parse({"--completion", shell}).text.find("max-new-tokens"), std::string::npos) << shell;
  expectProblem({"--completion=tcsh"},
                "(--completion=tcsh): there are no completions for it; use bash, zsh or fish");
  EXPECT_EQ(parse({"--help=man"}).text.compare(0, 10, ".TH OUT 1\n"), 0);
  expectProblem({"info", "--help=woman"}, "there is no such form");
  EXPECT_NE(parse({"generate", "-h"}).text.find("Examples:\n  OUT generate --prompt"), std::string::npos);
}

TEST(Options, MistakesNameTheNearest) {
  expectProblem({"generate", "--temprature=1"},
                "(--temprature=1): generate has no such flag; did you mean --temperature?");
  expectProblem({"generate", "--temp=1"}, "did you mean --temperature?");
  EXPECT_EQ(problem({"generate", "--tp=2"}),
            "cannot read the command line (--tp=2): generate has no such flag; see OUT generate --help");
  expectProblem({"info", "--jsno"}, "did you mean --json?");
  expectProblem({"generat"}, "(generat): there is no such command; did you mean generate?");
  expectProblem({"help", "generat"}, "did you mean generate?");
  expectProblem({"help", "bench", "--json"}, "(--json): help takes one command");
  // Far from everything, or of another command: no list of all flags, which has dozens.
  EXPECT_EQ(
      problem({"generate", "--frobnicate"}),
      "cannot read the command line (--frobnicate): generate has no such flag; see OUT generate --help");
  EXPECT_EQ(problem({"train", "--frobnicate"}),
            "cannot read the command line (--frobnicate): train has no such flag; see OUT train --help");
  expectProblem({"train", "--dta=d"}, "train has no such flag; did you mean --data? see OUT train --help");
  expectProblem({"info", "--temperature=1"}, "info has no such flag");
  expectProblem({"bench", "--threads=1", "--threads", "2"},
                "(--threads): --threads is given twice; give it once");
  expectProblem({"info", "--json", "--json"}, "--json is given twice");
  for (const char *flag : {"--model=m", "--init=random:4", "--threads=3"}) // it reads none of them
    expectProblem({"info", flag}, "info has no such flag");
  expectProblem({"bench", "--batch=4"},
                "(--batch=4): that was chosen when the program was compiled; compile it again with --batch");
  expectProblem({"info", "--micro-batches", "2"}, "compile it again with --micro-batches");
  expectProblem({"--hlep"}, "there is no such command; did you mean --help?");
  expectProblem({"dance"}, "there is no such command; use one of: generate, chat, train, bench, plot, info");
  expectProblem({}, "no command was given");
}

TEST(Options, ValuesThatCannotBeRead) {
  auto one = [](const std::string &flag, const std::string &part) {
    expectProblem({"generate", "--tokens=1", flag}, part);
  };
  one("--print-tokens=yes", "--print-tokens takes no value");
  one("--max-new-tokens=-1", "it is out of range");
  one("--max-new-tokens=1.5", "it is no integer");
  one("--max-new-tokens=", "it is no integer");
  one("--max-new-tokens=99999999999999999999", "it is out of range; use a number from 0 to 1099511627776");
  one("--top-k=-99999999999999999999", "it is out of range");
  one("--temperature=-0.1", "it is negative");
  one("--top-k=-1", "it is out of range");
  one("--temperature=inf", "it is no number");
  one("--top-p=0", "it is out of range");
  one("--top-p=1.01", "it is out of range");
  one("--min-p=-0.1", "(--min-p=-0.1): it is out of range; use 0 to 1");
  one("--min-p=1.01", "it is out of range");
  one("--min-p=nan", "it is no number");
  one("--min-p=0.1", "(--min-p=0.1): at temperature 0 nothing is drawn");
  one("--repeat-penalty=0", "(--repeat-penalty=0): it is out of range; use 0.01 to 100");
  one("--repeat-penalty=-1", "it is out of range");
  one("--repeat-penalty=101", "it is out of range");
  one("--repeat-penalty=inf", "it is no number");
  one("--seed=-1", "it is no seed");
  one("--seed=18446744073709551616", "it is no seed");
  one("--threads=0", "it is out of range");
  one("--threads=4097", "it is out of range");
  one("--init=zero", "there is no such initialization");
  one("--init=random:x",
      "(--init=random:x): \"x\" is no seed; use an integer from 0 to 18446744073709551615 behind random:");
  one("--init=random:", "(--init=random:): \"\" is no seed");
  one("--temperature=x", "(--temperature=x): it is no number; use 0 (greedy) or more");
  one("--model=", "it is empty");
  one("--logits=", "it is empty");
  one("--tokens=", "is no token id");
  one("--tokens=1,,2", "is no token id");
  one("--tokens=2147483648", "is no token id");
  expectProblem({"generate"}, "no prompt was given");
}
