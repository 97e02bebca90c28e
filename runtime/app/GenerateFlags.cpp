// The flags of generate and chat.
#include "FlagValues.h"
#include "Flags.h"
#include "InputLines.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/jinja/Characters.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

namespace tessera::runtime {

using Text = const std::string &;
using Command = Options::Command;

static const std::vector<Command> both = {Command::Generate, Command::Chat},
                                  generateOnly = {Command::Generate};

static std::vector<FlagInfo> promptFlags() {
  return {
      {"--prompt", "TEXT", "go on with TEXT (chat: say it first); may be given several times", both,
       [](Options &o, Text, Text value) { o.prompts.push_back({true, value, {}, "", ""}); },
       /*ofDraws=*/false, /*several=*/true},
      {"--tokens", "1,2,3", "the same with ids of tokens; may be given several times", generateOnly,
       [](Options &o, Text flag, Text value) {
         o.prompts.push_back({false, "", readTokens(flag, value), "", ""});
       },
       /*ofDraws=*/false, /*several=*/true},
      {"--prompt-file", "FILE", "the same with each line of FILE (-: of standard input)", generateOnly,
       [](Options &o, Text flag, Text value) {
         o.prompts.push_back(
             {true, "", {}, readText(flag, value, "name a file with a prompt a line, or -"), ""});
       },
       /*ofDraws=*/false, /*several=*/true},
      {"--chat", nullptr, "prompts are messages: the model's own chat template says how they read",
       generateOnly, [](Options &o, Text, Text) { o.chat = true; }},
      {"--system", "TEXT", "what the conversation begins with", both,
       [](Options &o, Text, Text value) { o.system = value; },
       /*ofDraws=*/false, /*several=*/false, /*hidden=*/false, /*mayStandAlone=*/false, /*with=*/"--chat"},
      {"--template-arg", "NAME=VALUE",
       "a variable of the chat template, as enable_thinking=false; may be given several times", both,
       [](Options &o, Text flag, Text value) {
         const size_t equals = value.find('=');
         if (equals == std::string::npos || equals == 0)
           badValue(flag, value, "it names no value", "write " + flag + "=NAME=VALUE");
         const std::string name = value.substr(0, equals);
         for (const auto &[before, given] : o.templateArguments)
           if (before == name)
             badValue(flag, value, name + " is given twice", "give it once");
         o.templateArguments.emplace_back(name, value.substr(equals + 1));
       },
       /*ofDraws=*/false, /*several=*/true, /*hidden=*/false, /*mayStandAlone=*/false, /*with=*/"--chat"},
  };
}

// A number that `fits`; `hint` says which do.
static double readFitting(Text flag, Text value, const char *hint, bool (*fits)(double)) {
  const double number = readNumber(flag, value, hint);
  if (!fits(number))
    badValue(flag, value, "it is out of range", hint);
  return number;
}

static std::vector<FlagInfo> drawingFlags() {
  return {
      {"--temperature", "T", "draw from softmax(logits / T); 0: the most likely (default)", both,
       [](Options &o, Text flag, Text value) {
         const char *hint = "use 0 (greedy) or more";
         o.temperature = readNumber(flag, value, hint);
         if (o.temperature < 0)
           badValue(flag, value, "it is negative", hint);
       }},
      {"--top-k", "K", "draw from the K most likely tokens (default 0: all)", both,
       [](Options &o, Text flag, Text value) { o.topK = readInteger(flag, value, 0, INT32_MAX); },
       /*ofDraws=*/true},
      {"--top-p", "P", "draw from the fewest tokens that hold P of the probability (default 1: all)", both,
       [](Options &o, Text flag, Text value) {
         o.topP = readFitting(flag, value, "use more than 0 and at most 1",
                              [](double p) { return p > 0 && p <= 1; });
       },
       /*ofDraws=*/true},
      {"--min-p", "P", "draw no token less than P times as likely as the likeliest one (default 0: all)",
       both,
       [](Options &o, Text flag, Text value) {
         o.minP = readFitting(flag, value, "use 0 to 1", [](double p) { return p >= 0 && p <= 1; });
       },
       /*ofDraws=*/true},
      {"--repeat-penalty", "X",
       "divide positive logits of tokens that the text has by X, and multiply negative ones (default 1: "
       "none)",
       both,
       [](Options &o, Text flag, Text value) {
         o.repeatPenalty =
             readFitting(flag, value, "use 0.01 to 100; above 1 fewer tokens come again, below 1 more",
                         [](double x) { return x >= 0.01 && x <= 100; });
       }},
      {"--seed", "S", "other draws (default 0)", both,
       [](Options &o, Text flag, Text value) { o.seed = readSeed(flag, value); },
       /*ofDraws=*/true},
  };
}

std::vector<FlagInfo> generateFlags() {
  std::vector<FlagInfo>
      flags = promptFlags(),
      rest = {
          {"--stop", "TEXT",
           "end an answer where TEXT comes, which is not printed; may be given several times", both,
           [](Options &o, Text flag, Text value) {
             const char *hint = "give a text that an answer ends at";
             o.stops.push_back(readText(flag, value, hint));
             if (!jinja::isValidUtf8(value))
               badValue(flag, value, "it is not valid UTF-8, so no answer has it", hint);
           },
           /*ofDraws=*/false, /*several=*/true},
          {"--quiet", nullptr, "no summary and no progress", both,
           [](Options &o, Text, Text) { o.quiet = true; }},
          {"--print-tokens", nullptr, "print the new ids, a line for each prompt", both,
           [](Options &o, Text, Text) { o.printTokens = true; }},
          {"--logits", "FILE.safetensors", "write the logits of the first prompt's positions", generateOnly,
           [](Options &o, Text flag, Text value) {
             o.logitsFile = readText(flag, value, "write --logits=FILE.safetensors");
           }},
      };
  flags.push_back(
      {"--max-new-tokens", "N", "at most N new tokens an answer (default: what the context has room for)",
       both,
       [](Options &o, Text flag, Text value) { o.maxNewTokens = readInteger(flag, value, 0, maxCount); }});
  for (const std::vector<FlagInfo> &more : {drawingFlags(), rest})
    flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

void checkGenerateOptions(const Options &o) {
  auto bad = [](const std::string &where, const std::string &why, const std::string &hint) {
    throw Error("cannot generate", where, why, hint);
  };
  const bool isChat = o.chat || o.command == Command::Chat;
  if (o.command == Command::Generate && o.prompts.empty())
    bad("", "no prompt was given", "add --prompt=TEXT or --tokens=1,2,3");
  if (!isChat && o.system)
    bad("--system=" + *o.system, "a prompt is no conversation", "add --chat, or leave this out");
  if (!isChat && !o.templateArguments.empty())
    bad("--template-arg=" + o.templateArguments.front().first, "no chat template is applied",
        "add --chat, or leave this out");
  for (const Prompt &prompt : o.prompts)
    if (isChat && !prompt.isText)
      bad("--tokens with --chat", "ids are no message", "give --prompt=TEXT, or leave --chat out");
  if (o.json && o.printTokens)
    bad("--json --print-tokens", "the lines of --json have the ids", "leave --print-tokens out");
}

void readPromptFiles(Options &options) {
  constexpr size_t most = size_t(256) << 20;
  std::vector<Prompt> prompts;
  bool isRead = false; // standard input
  for (Prompt &prompt : options.prompts) {
    if (prompt.file.empty()) {
      prompts.push_back(std::move(prompt));
      continue;
    }
    const std::string where = prompt.file == "-" ? "standard input" : prompt.file;
    if (prompt.file == "-" && std::exchange(isRead, true))
      throw Error("cannot read prompts", where, "--prompt-file=- is given twice", "give it once");
    std::ifstream file;
    if (prompt.file != "-") {
      errno = 0;
      file.open(prompt.file, std::ios::binary);
      if (!file)
        throw Error("cannot read prompts", where, strerror(errno ? errno : EIO),
                    "name a file with a prompt a line");
    }
    std::istream &stream = prompt.file == "-" ? std::cin : file;
    InputLines lines(stream, most);
    std::string line;
    size_t bytes = 0, number = 0, firstEmpty = 0; // none; an error once a prompt stands behind it
    auto at = [&](size_t number) { return where + ", line " + std::to_string(number); };
    auto endAtEmpty = [&] {
      if (firstEmpty > 0)
        throw Error("cannot read prompts", at(firstEmpty), "it is empty", "give each line a prompt");
    };
    while (lines.next(line)) {
      ++number;
      if ((bytes += line.size() + 1) > most)
        throw Error("cannot read prompts", at(number), "the prompts take more than 256 MiB",
                    "give it in parts");
      if (line.empty()) {
        firstEmpty = firstEmpty > 0 ? firstEmpty : number;
        continue;
      }
      endAtEmpty();
      prompts.push_back({true, line, {}, "", at(number)});
    }
    if (firstEmpty == 1)
      endAtEmpty(); // there is no prompt at all
    if (stream.bad())
      throw Error("cannot read prompts", where, strerror(errno ? errno : EIO),
                  "name a file with a prompt a line");
    if (number == 0)
      throw Error("cannot read prompts", where, "it has no line", "give it a prompt a line");
  }
  options.prompts = std::move(prompts);
}

std::string whatIsGenerated(const Options &o) {
  std::ostringstream text;
  text << std::hexfloat;
  for (const Prompt &prompt : o.prompts) {
    text << " prompt " << prompt.text.size() << ":" << prompt.text
         << (prompt.file.empty() ? "" : " of a file");
    for (int32_t token : prompt.tokens)
      text << " " << token;
  }
  text << " chat " << o.chat << " temperature " << o.temperature << " top-k " << o.topK << " top-p " << o.topP
       << " min-p " << o.minP << " repeat-penalty " << o.repeatPenalty << " seed " << o.seed;
  if (o.system)
    text << " system " << o.system->size() << ":" << *o.system;
  for (const auto &[name, value] : o.templateArguments)
    text << " " << name << "=" << value.size() << ":" << value;
  for (const std::string &stop : o.stops)
    text << " stop " << stop.size() << ":" << stop;
  if (o.maxNewTokens)
    text << " max-new-tokens " << *o.maxNewTokens;
  if (!o.logitsFile.empty()) // another entry takes the prompts, on all ranks
    text << " logits";
  return text.str();
}

} // namespace tessera::runtime
