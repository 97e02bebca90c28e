// What ranks must agree on of every flag: what is computed with it, or only that it is given, or nothing.
#include "Flags.h"
#include "Options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace tessera::runtime;
using Command = Options::Command;

namespace {

enum class Agree {
  Value,   // what the numbers follow from
  Given,   // what ranks do together; where files lie and what was measured may differ from machine to machine
  Nothing, // what each does for itself
};

struct FlagTerms {
  Command command;
  std::string name;
  Agree agree;
  std::vector<std::string> values = {}; // two that differ; none: the flag has no value
  std::vector<std::string> beside = {}; // flags that it needs
};

const std::vector<FlagTerms> termsOfFlags = {
    {Command::Generate, "--prompt", Agree::Value, {"a", "b"}},
    {Command::Generate, "--tokens", Agree::Value, {"1", "2"}},
    {Command::Generate, "--max-new-tokens", Agree::Value, {"1", "2"}},
    {Command::Generate, "--temperature", Agree::Value, {"1", "2"}},
    {Command::Generate, "--top-k", Agree::Value, {"1", "2"}, {"--temperature=1"}},
    {Command::Generate, "--top-p", Agree::Value, {"0.1", "0.2"}, {"--temperature=1"}},
    {Command::Generate, "--min-p", Agree::Value, {"0.1", "0.2"}, {"--temperature=1"}},
    {Command::Generate, "--repeat-penalty", Agree::Value, {"1.1", "1.2"}},
    {Command::Generate, "--seed", Agree::Value, {"1", "2"}, {"--temperature=1"}},
    {Command::Generate, "--prompt-file", Agree::Given, {"a", "b"}}, // until it is read
    {Command::Generate, "--chat", Agree::Value},
    {Command::Generate, "--system", Agree::Value, {"a", "b"}, {"--chat"}},
    {Command::Generate, "--template-arg", Agree::Value, {"a=1", "a=2"}, {"--chat"}},
    {Command::Generate, "--stop", Agree::Value, {"a", "b"}},
    {Command::Generate, "--quiet", Agree::Nothing},
    {Command::Generate, "--json", Agree::Nothing},
    {Command::Generate, "--print-tokens", Agree::Nothing},
    {Command::Generate, "--logits", Agree::Given, {"a", "b"}},
    {Command::Generate, "--model", Agree::Nothing, {"a", "b"}},
    {Command::Generate, "--init", Agree::Value, {"random:0", "random:1"}},
    {Command::Generate, "--threads", Agree::Nothing, {"1", "2"}},

    {Command::Chat, "--prompt", Agree::Value, {"a", "b"}},
    {Command::Chat, "--max-new-tokens", Agree::Value, {"1", "2"}},
    {Command::Chat, "--temperature", Agree::Value, {"1", "2"}},
    {Command::Chat, "--top-k", Agree::Value, {"1", "2"}, {"--temperature=1"}},
    {Command::Chat, "--top-p", Agree::Value, {"0.1", "0.2"}, {"--temperature=1"}},
    {Command::Chat, "--min-p", Agree::Value, {"0.1", "0.2"}, {"--temperature=1"}},
    {Command::Chat, "--repeat-penalty", Agree::Value, {"1.1", "1.2"}},
    {Command::Chat, "--seed", Agree::Value, {"1", "2"}, {"--temperature=1"}},
    {Command::Chat, "--system", Agree::Value, {"a", "b"}},
    {Command::Chat, "--template-arg", Agree::Value, {"a=1", "a=2"}},
    {Command::Chat, "--stop", Agree::Value, {"a", "b"}},
    {Command::Chat, "--quiet", Agree::Nothing},
    {Command::Chat, "--print-tokens", Agree::Nothing},
    {Command::Chat, "--model", Agree::Nothing, {"a", "b"}},
    {Command::Chat, "--init", Agree::Value, {"random:0", "random:1"}},
    {Command::Chat, "--threads", Agree::Nothing, {"1", "2"}},

    {Command::Bench, "--prompt-len", Agree::Value, {"1", "2"}},
    {Command::Bench, "--decode", Agree::Value, {"1", "2"}},
    {Command::Bench, "--machine", Agree::Given, {"a", "b"}},
    {Command::Bench, "--peak-flops", Agree::Given, {"1", "2"}},
    {Command::Bench, "--json", Agree::Nothing},
    {Command::Bench, "--model", Agree::Nothing, {"a", "b"}},
    {Command::Bench, "--init", Agree::Value, {"random:0", "random:1"}},
    {Command::Bench, "--threads", Agree::Nothing, {"1", "2"}},

    {Command::Train, "--data", Agree::Nothing, {"a", "b"}}, // what is in it: whatIsRead
    {Command::Train, "--steps", Agree::Value, {"30", "40"}},
    {Command::Train, "--lr", Agree::Value, {"1", "2"}},
    {Command::Train, "--min-lr", Agree::Value, {"1e-4", "2e-4"}},
    {Command::Train, "--warmup", Agree::Value, {"1", "2"}},
    {Command::Train, "--schedule", Agree::Value, {"linear", "constant"}},
    {Command::Train, "--decay-steps", Agree::Value, {"1", "2"}, {"--schedule=wsd"}},
    {Command::Train, "--weight-decay", Agree::Value, {"1", "2"}},
    {Command::Train, "--beta1", Agree::Value, {"0.1", "0.2"}},
    {Command::Train, "--beta2", Agree::Value, {"0.1", "0.2"}},
    {Command::Train, "--momentum", Agree::Value, {"0.1", "0.2"}},
    {Command::Train, "--eps", Agree::Value, {"1", "2"}},
    {Command::Train, "--clip", Agree::Value, {"1", "2"}},
    {Command::Train, "--epochs", Agree::Value, {"2", "3"}},
    {Command::Train, "--shuffle", Agree::Value, {"0", "1"}},
    {Command::Train, "--dropout", Agree::Value, {"0.1", "0.2"}},
    {Command::Train, "--seed", Agree::Value, {"1", "2"}, {"--dropout=0.1"}},
    {Command::Train, "--documents", Agree::Value},
    {Command::Train, "--eval", Agree::Given, {"a", "b"}},
    {Command::Train, "--eval-every", Agree::Value, {"1", "2"}, {"--eval=a"}},
    {Command::Train, "--log", Agree::Nothing, {"a", "b"}}, // rank 0 alone writes it
    {Command::Train, "--save", Agree::Given, {"a", "b"}},
    {Command::Train, "--save-every", Agree::Value, {"1", "2"}, {"--save=a"}},
    {Command::Train, "--keep", Agree::Value, {"1", "2"}, {"--save=a"}},
    {Command::Train, "--overwrite", Agree::Value, {}, {"--save=a"}},
    {Command::Train, "--resume", Agree::Given, {"a", "b"}},
    {Command::Train, "--grads", Agree::Given, {"a", "b"}},
    {Command::Train, "--trace", Agree::Given, {"a", "b"}},
    {Command::Train, "--trace-steps", Agree::Value, {"1", "2"}, {"--trace=a"}},
    {Command::Train, "--peak-flops", Agree::Given, {"1", "2"}}, // who measures it does so with all others
    {Command::Train, "--model", Agree::Nothing, {"a", "b"}},
    {Command::Train, "--init", Agree::Value, {"random:0", "random:1"}},
    {Command::Train, "--threads", Agree::Nothing, {"1", "2"}},
};

// Commands that run ranks, and what they cannot do without.
struct Running {
  Command command;
  std::vector<std::string> words;
};
const Running running[] = {{Command::Generate, {"generate", "--prompt=p"}},
                           {Command::Chat, {"chat"}},
                           {Command::Bench, {"bench"}},
                           {Command::Train, {"train", "--data=d", "--steps=20"}}};

// Of the words that `flags` follow; a flag that stands among them, too, is given once.
std::string terms(std::vector<std::string> words, const std::vector<std::string> &flags) {
  words.insert(words.begin(), "OUT");
  for (const std::string &flag : flags) {
    const std::string name = flag.substr(0, flag.find('=') + 1);
    if (!name.empty())
      words.erase(std::remove_if(words.begin(), words.end(),
                                 [&](const std::string &word) { return word.rfind(name, 0) == 0; }),
                  words.end());
    words.push_back(flag);
  }
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return whatIsComputed(parseOptions(int(argv.size()), argv.data()));
}

} // namespace

// Who adds a flag says here what becomes of two ranks that are given it differently.
TEST(Terms, EveryFlagSaysWhatRanksAgreeOn) {
  for (const Running &run : running) {
    std::multiset<std::string> flags, said;
    for (const FlagInfo &flag : flagTable())
      if (flag.belongsTo(run.command) && flag.name != std::string("--help") &&
          flag.name != std::string("--version") && flag.name != std::string("--completion"))
        flags.insert(flag.name);
    for (const FlagTerms &one : termsOfFlags)
      if (one.command == run.command)
        said.insert(one.name);
    EXPECT_EQ(flags, said) << run.words[0];
  }
}

TEST(Terms, RanksAgreeOnWhatIsSaid) {
  for (const Running &run : running)
    for (const FlagTerms &one : termsOfFlags) {
      if (one.command != run.command)
        continue;
      auto termsWith = [&](std::vector<std::string> given) {
        given.insert(given.begin(), one.beside.begin(), one.beside.end());
        return terms(run.words, given);
      };
      const std::string without = termsWith({});
      auto with = [&](size_t value) {
        return termsWith({one.name + (one.values.empty() ? "" : "=" + one.values[value])});
      };
      EXPECT_EQ(with(0) != without, one.agree != Agree::Nothing) << run.words[0] << " " << one.name;
      if (!one.values.empty())
        EXPECT_EQ(with(0) != with(1), one.agree == Agree::Value) << run.words[0] << " " << one.name;
    }
}
