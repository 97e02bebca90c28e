#include "Options.h"
#include "FlagValues.h"
#include "Flags.h"
#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Commands and flags
//===----------------------------------------------------------------------===//

namespace {

using Command = Options::Command;

// Flags of llm-compile that people look for here: all that its --help lists (check_errors.py compares).
constexpr const char *flagsOfTheCompiler[] = {
    "--batch",       "--max-seq-len", "--mesh",      "--shard",         "--template",   "--dtype",
    "--task",        "--target",      "--cpu",       "--grain",         "--page",       "--memory",
    "--recompute",   "--overlap",     "--optimizer", "--micro-batches", "--grad-dtype", "--loss-scale",
    "--loss-chunks", "--machine",     "--check",     "--embed-weights", "--compile-to", "--dump-rungs",
    "--explain",     "--report",      "--pipeline",  "--stages",        "--chunk",      "--cache"};

} // namespace

const std::vector<CommandInfo> &commandTable() {
  static const std::vector<CommandInfo> table = {
      {Command::Generate,
       "generate",
       "goes on with prompts, or answers messages",
       nullptr,
       {{"generate --prompt=\"The capital of France is\" --max-new-tokens=32", Command::Generate},
        {"generate --chat --prompt=\"Name three rivers.\" --temperature=0.7 --top-p=0.9", Command::Generate},
        {"generate --prompt-file=prompts.txt --json >answers.jsonl", Command::Generate}}},
      {Command::Chat,
       "chat",
       "holds a conversation in a terminal",
       nullptr,
       {{"chat", Command::Chat},
        {"chat --system=\"Answer in one sentence.\" --temperature=0.7", Command::Chat}}},
      {Command::Train,
       "train",
       "trains on data",
       nullptr,
       {{"train --data=text.txt --steps=500 --lr=3e-4 --warmup=50 --log=log.jsonl --save=run",
         Command::Train},
        {"train --data=text.txt --steps=1000 --resume=run --save=run", Command::Train}}},
      {Command::Bench,
       "bench",
       "measures tokens a second",
       nullptr,
       {{"bench --prompt-len=512 --decode=64", Command::Generate}, {"bench --json", Command::Train}}},
      {Command::Plot,
       "plot",
       "draws logs of training runs, side by side, as one page",
       "LOG...",
       {{"plot log.jsonl -o log.html", Command::Plot}}},
      {Command::Info,
       "info",
       "says what the program is and needs",
       nullptr,
       {{"info", Command::Info}, {"info --json", Command::Info}}},
  };
  return table;
}

static const char *nameOf(Command command) {
  for (const CommandInfo &info : commandTable())
    if (info.command == command)
      return info.name;
  return "";
}

static std::vector<FlagInfo> ownFlags() {
  static const std::vector<Command> all = {Command::Generate, Command::Chat, Command::Train,
                                           Command::Bench,    Command::Plot, Command::Info},
                                    runs = {Command::Generate, Command::Chat, Command::Train, Command::Bench},
                                    bench = {Command::Bench};
  using Text = const std::string &;
  return {
      {"--prompt-len", "N", "tokens of a prompt", bench,
       [](Options &o, Text flag, Text value) { o.promptLength = readInteger(flag, value, 1, maxCount); }},
      {"--decode", "N", "tokens to make", bench,
       [](Options &o, Text flag, Text value) { o.decodeSteps = readInteger(flag, value, 1, maxCount); }},
      {"--machine", "FILE", "measure this machine instead, and write what llm-compile --machine=FILE reads",
       bench,
       [](Options &o, Text flag, Text value) {
         o.machineFile = readText(flag, value, "write --machine=FILE.json");
       }},
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
       "one line of JSON (of generate: a line a prompt)",
       {Command::Generate, Command::Bench, Command::Info},
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
      {"--help", "man", "print this (also -h), or the whole as a page for man", all,
       [](Options &o, Text flag, Text value) {
         if (!value.empty() && value != "man")
           badValue(flag, value, "there is no such form", "write --help or --help=man");
         o.command = Command::Text;
       },
       false, false, false, /*mayStandAlone=*/true},
      {"--version", nullptr, "print the version", all,
       [](Options &o, Text, Text) { o.command = Command::Text; }},
      {"--completion", "bash|zsh|fish", "print a script that completes flags in this shell", all,
       [](Options &o, Text flag, Text value) {
         if (!cli::completionScript(programText("OUT"), value))
           badValue(flag, value, "there are no completions for it", "use bash, zsh or fish");
         o.command = Command::Text;
       }},
  };
}

const std::vector<FlagInfo> &flagTable() {
  static const std::vector<FlagInfo> table = [] {
    std::vector<FlagInfo> flags = generateFlags();
    for (const std::vector<FlagInfo> &more : {trainFlags(), ownFlags()})
      flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static bool hasFlag(Command command, const std::string &name) {
  return std::any_of(flagTable().begin(), flagTable().end(),
                     [&](const FlagInfo &flag) { return flag.name == name && flag.belongsTo(command); });
}

cli::ProgramText programText(const std::string &name, const std::function<bool(Command)> &has) {
  cli::ProgramText program{name, "a model, compiled by llm-compile", {}};
  for (const CommandInfo &info : commandTable()) {
    cli::CommandText command{info.name, info.help, info.arguments ? info.arguments : "", {}, {}};
    for (const Example &example : info.examples)
      if (!has || has(example.of))
        command.examples.push_back(example.text);
    for (const FlagInfo &flag : flagTable())
      if (flag.belongsTo(info.command) && !flag.hidden) {
        const bool needs = flag.with && hasFlag(info.command, flag.with);
        command.flags.push_back({flag.name, flag.value ? flag.value : "",
                                 flag.help + (needs ? std::string(" (with ") + flag.with + ")" : ""),
                                 flag.mayStandAlone});
      }
    program.commands.push_back(std::move(command));
  }
  return program;
}

// What --help, --version and --completion print. `command`: that they stand behind; null: they stand alone.
static std::string textOf(const std::string &flag, const std::string &value, const std::string &name,
                          const char *command, const std::function<bool(Command)> &has) {
  const cli::ProgramText program = programText(name, has);
  if (flag == "--version")
    return std::string("Tessera ") + cli::version + ", ABI " + std::to_string(TESSERA_ABI_VERSION) + "\n";
  if (flag == "--completion")
    return *cli::completionScript(program, value);
  if (value == "man")
    return cli::manPage(program);
  for (const cli::CommandText &one : program.commands)
    if (command && one.name == command)
      return cli::helpText(program, &one);
  return cli::helpText(program);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static std::string commandNames() {
  std::string all;
  for (const CommandInfo &info : commandTable())
    all += (all.empty() ? "" : ", ") + std::string(info.name);
  return all;
}

static Command readCommand(const std::string &word) {
  std::vector<std::string> names;
  for (const CommandInfo &info : commandTable()) {
    if (word == info.name)
      return info.command;
    names.push_back(info.name);
  }
  names.push_back("--help");
  const std::string nearest = cli::nearestOf(word, names);
  throw Error("cannot read the command line", word, "there is no such command",
              nearest.empty() ? "use one of: " + commandNames() : "did you mean " + nearest + "?");
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
  const std::string help = std::string("see OUT ") + nameOf(command) + " --help";
  if (argument.empty() || argument[0] != '-') {
    const bool takesPrompts = command == Command::Generate || command == Command::Chat;
    throw Error("cannot read the command line", argument,
                std::string(nameOf(command)) + " takes flags alone, and this is none",
                (takesPrompts ? "write --prompt=TEXT; " : "") + help);
  }
  for (const char *compiled : flagsOfTheCompiler)
    if (name == compiled)
      throw Error("cannot read the command line", argument, "that was chosen when the program was compiled",
                  "compile it again with " + name);
  const std::string nearest = cli::nearestOf(name, known);
  throw Error("cannot read the command line", argument, std::string(nameOf(command)) + " has no such flag",
              (nearest.empty() ? "" : "did you mean " + nearest + "? ") + help);
}

Options parseOptions(int argc, char **argv, const std::function<bool(Command)> &has,
                     const std::function<void(Command)> &check) {
  Options options;
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty())
    throw Error("cannot read the command line", "", "no command was given",
                "use one of: " + commandNames() + "; see --help");
  const std::string path = argv[0], name = path.substr(path.rfind('/') + 1);
  auto isHelp = [](const std::string &word) { return word == "--help" || word == "-h"; };
  // The word before a command is help of it, as behind it; help of help is the whole.
  if (words[0] == "help" || (isHelp(words[0]) && words.size() > 1 && words[1].rfind('-', 0) != 0)) {
    const bool isOfAll = words.size() == 1 || words[1] == "help" || isHelp(words[1]);
    const char *of = isOfAll ? nullptr : nameOf(readCommand(words[1]));
    if (words[0] == "help" && words.size() > 2) // behind --help flags may stand, as they may before it
      throw Error("cannot read the command line", words[2], "help takes one command",
                  "leave the rest out; commands are: " + commandNames());
    options.command = Command::Text;
    options.text = textOf("--help", "", name, of, has);
    return options;
  }
  if (words.size() == 2 && words[1] == "help" && words[0][0] != '-') // a log of that name would be ./help
    words[1] = "--help";
  // What belongs to all commands may stand alone.
  const std::string first = words[0].substr(0, words[0].find('='));
  const bool isAlone = first == "--help" || first == "-h" || first == "--version" || first == "--completion";
  if (isAlone)
    words.insert(words.begin(), commandTable().front().name);
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
    if (flag.value && equals == std::string::npos && !flag.mayStandAlone) {
      if (++i == words.size())
        throw Error("cannot read the command line", flag.name, "it has no value",
                    std::string("write ") + flag.name + (flag.name[1] == '-' ? "=" : " ") + flag.value);
      value = words[i];
    }
    if (!given.insert(flag.name).second && !flag.several)
      throw Error("cannot read the command line", argument, std::string(flag.name) + " is given twice",
                  "give it once");
    flag.read(options, flag.name, value);
    if (flag.ofDraws)
      ofDraws = std::string(flag.name) + "=" + value;
    if (options.command == Command::Text) {
      options.text = textOf(flag.name, value, name, isAlone ? nullptr : nameOf(command), has);
      return options;
    }
  }
  if (check)
    check(command);
  if (command == Command::Generate || command == Command::Chat)
    checkGenerateOptions(options);
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
  text << std::hexfloat << int(options.command) << whatIsGenerated(options);
  for (auto [name, number] :
       {std::pair("prompt-length", options.promptLength), std::pair("decode-steps", options.decodeSteps)})
    if (number)
      text << " " << name << " " << *number;
  if (options.initSeed)
    text << " init " << *options.initSeed;
  text << " machine " << !options.machineFile.empty();
  text << " peak " << options.peakFlops.has_value(); // else the ranks measure it
  if (options.command == Command::Train)
    text << whatIsTrained(options.train);
  return text.str();
}

} // namespace tessera::runtime
