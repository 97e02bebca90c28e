#include "Options.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

namespace tessera::runtime {

static constexpr const char *commandHint = "use one of: generate, bench, info";

[[noreturn]] static void badValue(const std::string &flag, const std::string &value, const std::string &why,
                                  const std::string &hint) {
  throw Error("cannot read the command line", flag + "=" + value, why, hint);
}

static int64_t readInteger(const std::string &flag, const std::string &value, int64_t least, int64_t most) {
  errno = 0;
  char *end = nullptr;
  long long number = strtoll(value.c_str(), &end, 10);
  bool digits = !value.empty() && (isdigit((unsigned char)value[0]) || (value[0] == '-' && value.size() > 1));
  if (!digits || *end || errno)
    badValue(flag, value, "it is no integer", "write " + flag + "=N");
  if (number < least || number > most)
    badValue(flag, value, "it is out of range",
             "use a number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

static uint64_t readSeed(const std::string &flag, const std::string &value) {
  errno = 0;
  char *end = nullptr;
  unsigned long long number = strtoull(value.c_str(), &end, 10);
  if (value.empty() || !isdigit((unsigned char)value[0]) || *end || errno)
    badValue(flag, value, "it is no seed", "use an integer from 0 to 18446744073709551615");
  return number;
}

static double readNumber(const std::string &flag, const std::string &value) {
  char *end = nullptr;
  double number = strtod(value.c_str(), &end);
  if (value.empty() || *end || !std::isfinite(number))
    badValue(flag, value, "it is no number", "write " + flag + "=0.8, for example");
  return number;
}

static std::vector<int32_t> readTokens(const std::string &value) {
  std::vector<int32_t> tokens;
  const std::string flag = "--tokens";
  for (size_t at = 0; at <= value.size();) {
    size_t comma = std::min(value.find(',', at), value.size());
    std::string item = value.substr(at, comma - at);
    char *end = nullptr;
    errno = 0;
    long long id = strtoll(item.c_str(), &end, 10);
    if (item.empty() || !(isdigit((unsigned char)item[0]) || item[0] == '-') || *end || errno ||
        id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max())
      badValue(flag, value.size() > 60 ? value.substr(0, 60) + "..." : value,
               "\"" + item + "\" is no token id", "write --tokens=1,2,3");
    tokens.push_back(int32_t(id));
    at = comma + 1;
  }
  return tokens;
}

Options parseOptions(int argc, char **argv) {
  Options options;
  if (argc < 2)
    throw Error("cannot read the command line", "", "no command was given", commandHint);
  std::string command = argv[1];
  if (command == "generate")
    options.command = Options::Command::Generate;
  else if (command == "bench")
    options.command = Options::Command::Bench;
  else if (command == "info")
    options.command = Options::Command::Info;
  else if (command == "train")
    throw Error("cannot run command", "train", "this program was compiled with --task=generate",
                "compile the model with --task=train, or " + std::string(commandHint));
  else
    throw Error("cannot read the command line", command, "there is no such command", commandHint);

  using Handler = std::function<void(const std::string &flag, const std::string &value)>;
  constexpr int64_t most = int64_t(1) << 40;
  // Flags with a value, then flags without one.
  std::map<std::string, Handler> valued = {
      {"--model",
       [&](auto &flag, auto &value) {
         if (value.empty())
           badValue(flag, value, "it is empty", "name a model directory or file");
         options.model = value;
       }},
      {"--init",
       [&](auto &flag, auto &value) {
         if (value.rfind("random:", 0) != 0)
           badValue(flag, value, "there is no such initialization", "write --init=random:SEED");
         options.initSeed = readSeed(flag, value.substr(7));
       }},
      {"--threads", [&](auto &flag, auto &value) { options.threads = readInteger(flag, value, 1, 4096); }},
  };
  std::map<std::string, std::function<void()>> plain;
  if (options.command == Options::Command::Generate) {
    valued["--prompt"] = [&](auto &, auto &value) { options.prompts.push_back({true, value, {}}); };
    valued["--tokens"] = [&](auto &, auto &value) {
      options.prompts.push_back({false, "", readTokens(value)});
    };
    valued["--max-new-tokens"] = [&](auto &flag, auto &value) {
      options.maxNewTokens = readInteger(flag, value, 0, most);
    };
    valued["--temperature"] = [&](auto &flag, auto &value) {
      options.temperature = readNumber(flag, value);
      if (options.temperature < 0)
        badValue(flag, value, "it is negative", "use 0 (greedy) or more");
    };
    valued["--top-p"] = [&](auto &flag, auto &value) {
      options.topP = readNumber(flag, value);
      if (!(options.topP > 0 && options.topP <= 1))
        badValue(flag, value, "it is out of range", "use more than 0 and at most 1");
    };
    valued["--seed"] = [&](auto &flag, auto &value) { options.seed = readSeed(flag, value); };
    valued["--logits"] = [&](auto &flag, auto &value) {
      if (value.empty())
        badValue(flag, value, "it is empty", "write --logits=FILE.safetensors");
      options.logitsFile = value;
    };
    plain["--print-tokens"] = [&] { options.printTokens = true; };
  } else {
    plain["--json"] = [&] { options.json = true; };
  }
  if (options.command == Options::Command::Bench) {
    valued["--prompt-len"] = [&](auto &flag, auto &value) {
      options.promptLength = readInteger(flag, value, 1, most);
    };
    valued["--decode"] = [&](auto &flag, auto &value) {
      options.decodeSteps = readInteger(flag, value, 1, most);
    };
  }

  for (int i = 2; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string flag = argument.substr(0, equals);
    bool hasValue = equals != std::string::npos;
    if (auto it = valued.find(flag); it != valued.end()) {
      if (!hasValue)
        throw Error("cannot read the command line", flag, "it has no value", "write " + flag + "=VALUE");
      it->second(flag, argument.substr(equals + 1));
    } else if (auto it = plain.find(flag); it != plain.end()) {
      if (hasValue)
        throw Error("cannot read the command line", argument, flag + " takes no value", "write " + flag);
      it->second();
    } else {
      std::string known;
      for (auto &[name, handler] : valued)
        known += (known.empty() ? "" : ", ") + name + "=";
      for (auto &[name, handler] : plain)
        known += ", " + name;
      throw Error("cannot read the command line", argument, command + " has no such flag", "use " + known);
    }
  }
  if (options.command == Options::Command::Generate && options.prompts.empty())
    throw Error("cannot generate", "", "no prompt was given", "add --prompt=TEXT or --tokens=1,2,3");
  return options;
}

} // namespace tessera::runtime
