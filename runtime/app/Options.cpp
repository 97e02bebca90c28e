#include "Options.h"
#include "FlagValues.h"
#include "Flags.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Commands and flags
//===----------------------------------------------------------------------===//

namespace {

using Command = Options::Command;

struct CommandInfo {
  Command command;
  const char *name, *help;
};

constexpr CommandInfo commandTable[] = {
    {Command::Generate, "generate", "goes on with prompts"},
    {Command::Train, "train", "trains on data"},
    {Command::Bench, "bench", "measures tokens a second"},
    {Command::Plot, "plot", "draws logs of training runs, side by side, as one page"},
    {Command::Info, "info", "says what the program is and needs"},
};

// Flags of llm-compile that people look for here: all that its --help lists (check_errors.py compares).
constexpr const char *flagsOfTheCompiler[] = {
    "--batch",       "--max-seq-len", "--mesh",      "--shard",         "--template",   "--dtype",
    "--task",        "--target",      "--cpu",       "--grain",         "--page",       "--memory",
    "--recompute",   "--overlap",     "--optimizer", "--micro-batches", "--grad-dtype", "--loss-scale",
    "--loss-chunks", "--machine",     "--check",     "--embed-weights", "--compile-to", "--dump-rungs",
    "--explain",     "--report",      "--pipeline",  "--stages"};

} // namespace

static const char *nameOf(Command command) {
  for (const CommandInfo &info : commandTable)
    if (info.command == command)
      return info.name;
  return "";
}

static std::vector<FlagInfo> ownFlags() {
  static const std::vector<Command> all = {Command::Generate, Command::Train, Command::Bench, Command::Plot,
                                           Command::Info},
                                    runs = {Command::Generate, Command::Train, Command::Bench},
                                    generate = {Command::Generate}, bench = {Command::Bench};
  using Text = const std::string &;
  return {
      {"--prompt", "TEXT", "go on with TEXT; may be given several times", generate,
       [](Options &o, Text, Text value) { o.prompts.push_back({true, value, {}}); },
       /*ofDraws=*/false, /*several=*/true},
      {"--tokens", "1,2,3", "the same with ids of tokens; may be given several times", generate,
       [](Options &o, Text flag, Text value) { o.prompts.push_back({false, "", readTokens(flag, value)}); },
       /*ofDraws=*/false, /*several=*/true},
      {"--max-new-tokens", "N", "at most N new tokens a prompt (default: what the context has room for)",
       generate,
       [](Options &o, Text flag, Text value) { o.maxNewTokens = readInteger(flag, value, 0, maxCount); }},
      {"--temperature", "T", "draw from softmax(logits / T); 0: the most likely (default)", generate,
       [](Options &o, Text flag, Text value) {
         const char *hint = "use 0 (greedy) or more";
         o.temperature = readNumber(flag, value, hint);
         if (o.temperature < 0)
           badValue(flag, value, "it is negative", hint);
       }},
      {"--top-k", "K", "draw from the K most likely tokens (default 0: all)", generate,
       [](Options &o, Text flag, Text value) { o.topK = readInteger(flag, value, 0, INT32_MAX); },
       /*ofDraws=*/true},
      {"--top-p", "P", "draw from the fewest tokens that hold P of the probability (default 1: all)",
       generate,
       [](Options &o, Text flag, Text value) {
         const char *hint = "use more than 0 and at most 1";
         o.topP = readNumber(flag, value, hint);
         if (!(o.topP > 0 && o.topP <= 1))
           badValue(flag, value, "it is out of range", hint);
       },
       /*ofDraws=*/true},
      {"--seed", "S", "other draws (default 0)", generate,
       [](Options &o, Text flag, Text value) { o.seed = readSeed(flag, value); },
       /*ofDraws=*/true},
      {"--print-tokens", nullptr, "print the new ids, a line for each prompt", generate,
       [](Options &o, Text, Text) { o.printTokens = true; }},
      {"--logits", "FILE.safetensors", "write the logits of the first prompt's positions", generate,
       [](Options &o, Text flag, Text value) {
         o.logitsFile = readText(flag, value, "write --logits=FILE.safetensors");
       }},
      {"--prompt-len", "N", "tokens of a prompt", bench,
       [](Options &o, Text flag, Text value) { o.promptLength = readInteger(flag, value, 1, maxCount); }},
      {"--decode", "N", "tokens to make", bench,
       [](Options &o, Text flag, Text value) { o.decodeSteps = readInteger(flag, value, 1, maxCount); }},
      {"--peak-flops",
       "X",
       "FLOPs a second that MFU is a share of, of all ranks (default: measured)",
       {Command::Train, Command::Bench},
       [](Options &o, Text flag, Text value) {
         const char *hint = "use a positive number, or leave it out, and a product is measured";
         o.peakFlops = readNumber(flag, value, hint);
         if (!(*o.peakFlops > 0))
           badValue(flag, value, "it is not positive", hint);
       }},
      {"-o",
       "FILE.html",
       "the page to write",
       {Command::Plot},
       [](Options &o, Text flag, Text value) { o.plotFile = readText(flag, value, "write -o FILE.html"); }},
      {"--json",
       nullptr,
       "one line of JSON",
       {Command::Bench, Command::Info},
       [](Options &o, Text, Text) { o.json = true; }},
      {"--model", "PATH", "weights from this directory or file (default: the model compiled from)", runs,
       [](Options &o, Text flag, Text value) {
         o.model = readText(flag, value, "name a model directory or file");
       }},
      {"--init", "random:SEED", "made-up weights: no files needed", runs,
       [](Options &o, Text flag, Text value) {
         if (value.rfind("random:", 0) != 0)
           badValue(flag, value, "there is no such initialization", "write --init=random:SEED");
         o.initSeed = readSeed(flag, value, "random:");
       }},
      {"--threads", "N", "threads of this process in all (default: the cores it may use)", runs,
       [](Options &o, Text flag, Text value) { o.threads = readInteger(flag, value, 1, 4096); }},
      {"--help", nullptr, "print this (also -h)", all,
       [](Options &o, Text, Text) { o.command = Command::Help; }},
  };
}

const std::vector<FlagInfo> &flagTable() {
  static const std::vector<FlagInfo> table = [] {
    std::vector<FlagInfo> flags = trainFlags();
    for (FlagInfo &flag : ownFlags())
      flags.push_back(std::move(flag));
    return flags;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static std::string row(const std::string &left, const std::string &right) {
  return "  " + left + std::string(left.size() < 26 ? 26 - left.size() : 1, ' ') + right + "\n";
}

static std::string helpText(std::optional<Command> command) {
  std::string text = std::string("OUT ") + (command ? nameOf(*command) : "COMMAND") +
                     (command == Command::Plot ? " LOG..." : "") + " [flags]\n\n";
  if (!command) {
    for (const CommandInfo &info : commandTable)
      text += row(info.name, info.help);
    return text + row("help [COMMAND]", "prints this, or the flags of a command (also --help, -h)");
  }
  for (const FlagInfo &flag : flagTable())
    if (flag.belongsTo(*command) && !flag.hidden)
      text += row(flag.spelling(), flag.help);
  return text + "\n`--flag VALUE` is `--flag=VALUE`.\n";
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

// Letters to change, put in or take out to make one of the other.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The one of `known` that is near; empty: none is.
static std::string nearestOf(const std::string &word, const std::vector<std::string> &known) {
  std::string nearest;
  size_t least = 4;
  for (const std::string &name : known) {
    // Farther away, or half of the name, is no slip of the finger.
    size_t distance = editDistance(word, name);
    if (distance < least && 2 * distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

static Command readCommand(const std::string &word) {
  std::vector<std::string> names;
  std::string all;
  for (const CommandInfo &info : commandTable) {
    if (word == info.name)
      return info.command;
    names.push_back(info.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  names.push_back("--help");
  const std::string nearest = nearestOf(word, names);
  throw Error("cannot read the command line", word, "there is no such command",
              nearest.empty() ? "use one of: " + all : "did you mean " + nearest + "?");
}

static const FlagInfo &findFlag(Command command, const std::string &argument) {
  std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const FlagInfo &flag : flagTable()) {
    if (!flag.belongsTo(command))
      continue;
    if (name == flag.name || (argument == "-h" && flag.name == std::string("--help")))
      return flag;
    if (!flag.hidden)
      known.push_back(flag.name);
  }
  for (const char *compiled : flagsOfTheCompiler)
    if (name == compiled)
      throw Error("cannot read the command line", argument, "that was chosen when the program was compiled",
                  "compile it again with " + name);
  const std::string nearest = nearestOf(name, known);
  throw Error("cannot read the command line", argument, std::string(nameOf(command)) + " has no such flag",
              (nearest.empty() ? "" : "did you mean " + nearest + "? ") + "see OUT " + nameOf(command) +
                  " --help");
}

Options parseOptions(int argc, char **argv, const std::function<void(Command)> &check) {
  Options options;
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty())
    throw Error("cannot read the command line", "", "no command was given",
                "use one of: generate, train, bench, plot, info; see --help");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    options.command = Command::Help;
    options.help = helpText(words[0] == "help" && words.size() > 1 ? std::optional(readCommand(words[1]))
                                                                   : std::nullopt);
    return options;
  }
  Command command = options.command = readCommand(words[0]);
  std::string ofDraws; // a flag that says how to draw
  std::set<std::string> given;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string &argument = words[i];
    if (command == Command::Plot && argument[0] != '-') {
      options.logs.push_back(argument);
      continue;
    }
    const FlagInfo &flag = findFlag(command, argument);
    size_t equals = argument.find('=');
    std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (!flag.value && equals != std::string::npos)
      throw Error("cannot read the command line", argument, std::string(flag.name) + " takes no value",
                  std::string("write ") + flag.name);
    if (flag.value && equals == std::string::npos) {
      if (++i == words.size())
        throw Error("cannot read the command line", flag.name, "it has no value",
                    std::string("write ") + flag.name + "=VALUE");
      value = words[i];
    }
    if (!given.insert(flag.name).second && !flag.several)
      throw Error("cannot read the command line", argument, std::string(flag.name) + " is given twice",
                  "give it once");
    flag.read(options, flag.name, value);
    if (flag.ofDraws)
      ofDraws = std::string(flag.name) + "=" + value;
    if (options.command == Command::Help) {
      options.help = helpText(command);
      return options;
    }
  }
  if (check)
    check(command);
  if (command == Command::Generate && options.prompts.empty())
    throw Error("cannot generate", "", "no prompt was given", "add --prompt=TEXT or --tokens=1,2,3");
  if (command == Command::Train)
    checkTrainOptions(options.train);
  if (!options.train.resume.empty() && (options.initSeed || !options.model.empty()))
    throw Error("cannot read the command line", "--resume=" + options.train.resume,
                std::string("the weights are those of the save, and ") +
                    (options.initSeed ? "--init" : "--model") + " names others",
                "leave one of them out");
  if (options.initSeed && !options.model.empty())
    throw Error("cannot read the command line",
                "--model=" + options.model + " --init=random:" + std::to_string(*options.initSeed),
                "weights are read or made up, not both", "leave one of them out");
  if (command == Command::Plot && options.logs.empty())
    throw Error("cannot plot", "", "no log was given", "write plot LOG... -o FILE.html");
  if (command == Command::Plot && options.plotFile.empty())
    throw Error("cannot plot", options.logs[0], "no page was named", "add -o FILE.html");
  if (!ofDraws.empty() && options.temperature == 0)
    throw Error("cannot generate", ofDraws, "at temperature 0 nothing is drawn",
                "add --temperature=T above 0, or leave this out");
  return options;
}

std::string whatIsComputed(const Options &options) {
  std::ostringstream text;
  text << std::hexfloat << int(options.command);
  for (const Prompt &prompt : options.prompts) {
    text << " prompt " << prompt.text.size() << ":" << prompt.text;
    for (int32_t token : prompt.tokens)
      text << " " << token;
  }
  text << " temperature " << options.temperature << " top-k " << options.topK << " top-p " << options.topP
       << " seed " << options.seed;
  for (auto [name, number] :
       {std::pair("max-new-tokens", options.maxNewTokens), std::pair("prompt-length", options.promptLength),
        std::pair("decode-steps", options.decodeSteps)})
    if (number)
      text << " " << name << " " << *number;
  if (options.initSeed)
    text << " init " << *options.initSeed;
  if (!options.logitsFile.empty()) // another entry takes the prompts, on all ranks
    text << " logits";
  text << " peak " << options.peakFlops.has_value(); // else the ranks measure it
  if (options.command == Command::Train)
    text << whatIsTrained(options.train);
  return text.str();
}

} // namespace tessera::runtime
