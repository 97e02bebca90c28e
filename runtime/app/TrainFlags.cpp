// The flags of train.
#include "FlagValues.h"
#include "Flags.h"
#include "tessera/runtime/core/Error.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace tessera::runtime {

using Text = const std::string &;
using Command = Options::Command;

static double readFrom(Text flag, Text value, double least, double below, const char *range) {
  const std::string hint = std::string("use ") + range;
  double number = readNumber(flag, value, hint);
  if (!(number >= least && number < below))
    badValue(flag, value, "it is out of range", hint);
  return number;
}
static double readPositive(Text flag, Text value) {
  // Programs take float32.
  return readFrom(flag, value, 0, std::nextafter(double(std::numeric_limits<float>::max()), INFINITY),
                  "0 or a positive number of at most 3.4e38");
}
// What is added to a divisor that may be 0.
static double readDivisor(Text flag, Text value) {
  double number = readPositive(flag, value);
  if (float(number) == 0)
    badValue(flag, value, "it is 0 in float32, and 0 is divided by it where a gradient is 0",
             "use a positive number, 1e-8 for one");
  return number;
}
static double readShare(Text flag, Text value) {
  double number = readFrom(flag, value, 0, 1, "a number from 0 to below 1");
  if (float(number) == 1)
    badValue(flag, value, "it is 1 in float32", "use a number from 0 to below 1");
  return number;
}

// "3:5", or "3" alone.
static std::pair<int64_t, int64_t> readSteps(Text flag, Text value) {
  const size_t colon = std::min(value.find(':'), value.size());
  const int64_t first = readInteger(flag, value.substr(0, colon), 1, maxCount),
                last =
                    colon == value.size() ? first : readInteger(flag, value.substr(colon + 1), 1, maxCount);
  if (last < first)
    badValue(flag, value, "it ends before it begins", "write the first step, a colon, and the last one");
  return {first, last};
}

static FlagInfo ofTrain(const char *name, const char *value, const char *help,
                        std::function<void(TrainOptions &, Text flag, Text value)> read) {
  return {name, value, help, {Command::Train}, [read](Options &o, Text flag, Text given) {
            read(o.train, flag, given);
          }};
}

static std::vector<FlagInfo> rateFlags() {
  return {
      ofTrain("--lr", "X", "peak learning rate (default 1e-3)",
              [](TrainOptions &o, Text flag, Text value) { o.rate.peak = readPositive(flag, value); }),
      ofTrain("--min-lr", "X", "learning rate at the end (default 0)",
              [](TrainOptions &o, Text flag, Text value) { o.rate.least = readPositive(flag, value); }),
      ofTrain("--warmup", "N", "steps in which the rate rises (default 0)",
              [](TrainOptions &o, Text flag, Text value) {
                o.rate.warmup = readInteger(flag, value, 0, maxCount);
              }),
      ofTrain("--schedule", "NAME", "cosine (default), linear, constant or wsd",
              [](TrainOptions &o, Text flag, Text value) {
                std::optional<train::Schedule> schedule = train::scheduleFromName(value);
                if (!schedule)
                  badValue(flag, value, "there is no such schedule", "use cosine, linear, constant or wsd");
                o.rate.schedule = *schedule;
              }),
      ofTrain("--decay-steps", "N", "of wsd: steps in which the rate falls, 0: none (default: a tenth)",
              [](TrainOptions &o, Text flag, Text value) {
                o.rate.decaySteps = readInteger(flag, value, 0, maxCount);
              }),
      ofTrain("--weight-decay", "X", "of weights with two or more dimensions (default 0.1)",
              [](TrainOptions &o, Text flag, Text value) { o.weightDecay = readPositive(flag, value); }),
      ofTrain("--beta1", "X", "of AdamW's first moment (default 0.9)",
              [](TrainOptions &o, Text flag, Text value) { o.beta1 = readShare(flag, value); }),
      ofTrain("--beta2", "X", "of AdamW's second moment (default 0.95)",
              [](TrainOptions &o, Text flag, Text value) { o.beta2 = readShare(flag, value); }),
      ofTrain("--momentum", "X", "of SGD (default 0.9)",
              [](TrainOptions &o, Text flag, Text value) { o.momentum = readShare(flag, value); }),
      ofTrain("--eps", "X", "what AdamW adds to its divisor (default 1e-8)",
              [](TrainOptions &o, Text flag, Text value) { o.epsilon = readDivisor(flag, value); }),
      ofTrain("--clip", "X", "largest norm of the gradient (default 1; 0: any)",
              [](TrainOptions &o, Text flag, Text value) { o.clip = readPositive(flag, value); }),
  };
}

std::vector<FlagInfo> trainFlags() {
  std::vector<FlagInfo> flags = {
      ofTrain("--data", "FILE", "tokens (.safetensors, .bin) or a text to train on",
              [](TrainOptions &o, Text flag, Text value) {
                o.data = readText(flag, value, "name a .safetensors or .bin file, or a text");
              }),
      ofTrain("--steps", "N", "steps in all, those of a resumed run included",
              [](TrainOptions &o, Text flag, Text value) {
                o.rate.steps = readInteger(flag, value, 1, maxCount);
                o.stepsGiven = true;
              })};
  for (FlagInfo &flag : rateFlags())
    flags.push_back(std::move(flag));
  std::vector<FlagInfo> more = {
      ofTrain(
          "--epochs", "N", "passes over the data (default 1)",
          [](TrainOptions &o, Text flag, Text value) { o.epochs = readInteger(flag, value, 1, maxCount); }),
      ofTrain("--shuffle", "SEED", "another order of the rows in each pass",
              [](TrainOptions &o, Text flag, Text value) { o.shuffle = readSeed(flag, value); }),
      ofTrain("--dropout", "P", "drop a share of elements where the family does (default 0)",
              [](TrainOptions &o, Text flag, Text value) { o.dropout = readShare(flag, value); }),
      ofTrain("--seed", "S", "other elements for --dropout (default 0)",
              [](TrainOptions &o, Text flag, Text value) { o.seed = readSeed(flag, value); }),
      ofTrain("--documents", nullptr, "attention and positions start over after an end token",
              [](TrainOptions &o, Text, Text) { o.documents = true; }),
      ofTrain("--eval", "FILE", "data to evaluate on: eval_loss of the log",
              [](TrainOptions &o, Text flag, Text value) {
                o.eval = readText(flag, value, "name a .safetensors or .bin file, or a text");
              }),
      ofTrain("--eval-every", "N", "evaluate after every N-th step (default: the last)",
              [](TrainOptions &o, Text flag, Text value) {
                o.evalEvery = readInteger(flag, value, 1, maxCount);
              }),
      ofTrain("--log", "FILE.jsonl", "write a line of JSON for each step",
              [](TrainOptions &o, Text flag, Text value) {
                o.log = readText(flag, value, "write --log=FILE.jsonl");
              }),
      ofTrain(
          "--save", "DIR", "save there, at least after the last step",
          [](TrainOptions &o, Text flag, Text value) { o.save = readText(flag, value, "write --save=DIR"); }),
      ofTrain("--save-every", "N", "save after every N-th step, too",
              [](TrainOptions &o, Text flag, Text value) {
                o.saveEvery = readInteger(flag, value, 1, maxCount);
              }),
      ofTrain("--keep", "N", "how many saves stay (default 2)",
              [](TrainOptions &o, Text flag, Text value) { o.keep = readInteger(flag, value, 1, maxCount); }),
      ofTrain("--overwrite", nullptr, "let saves of an earlier run in that folder go",
              [](TrainOptions &o, Text, Text) { o.overwrite = true; }),
      ofTrain("--resume", "DIR[/step-N]", "go on from a save",
              [](TrainOptions &o, Text flag, Text value) {
                o.resume = readText(flag, value, "name a folder that --save wrote");
              }),
      ofTrain("--grads", "FILE.safetensors", "write the gradients of step 1, before clipping",
              [](TrainOptions &o, Text flag, Text value) {
                o.grads = readText(flag, value, "write --grads=FILE.safetensors");
              }),
      {"--trace",
       "FILE.json",
       "write what every rank does when, for Perfetto or chrome://tracing (info: what a pipeline is "
       "predicted to do)",
       {Command::Train, Command::Info},
       [](Options &o, Text flag, Text value) {
         o.train.trace = readText(flag, value, "write --trace=FILE.json");
       }},
      ofTrain("--trace-steps", "A:B", "the steps of the trace (default: the first three of the run)",
              [](TrainOptions &o, Text flag, Text value) { o.traceSteps = readSteps(flag, value); }),
  };
  for (FlagInfo &flag : more)
    flags.push_back(std::move(flag));
  return flags;
}

void checkTrainOptions(const TrainOptions &o) {
  auto lacking = [](const std::string &where, const std::string &why, const std::string &hint) {
    throw Error("cannot train", where, why, hint);
  };
  if (o.data.empty())
    lacking("", "no data was given", "add --data=FILE");
  if (!o.stepsGiven)
    lacking("", "no number of steps was given", "add --steps=N");
  check(o.rate.check());
  if (!o.grads.empty() && !o.resume.empty())
    lacking("--grads=" + o.grads, "it writes gradients of step 1, and a resumed run has done that",
            "leave out --grads, or --resume");
  if (o.evalEvery && o.eval.empty())
    lacking("--eval-every=" + std::to_string(*o.evalEvery), "there is nothing to evaluate on",
            "add --eval=FILE, or leave this out");
  if (o.traceSteps) {
    const auto [first, last] = *o.traceSteps;
    const std::string where = "--trace-steps=" + std::to_string(first) + ":" + std::to_string(last);
    if (o.trace.empty())
      lacking(where, "nothing is traced", "add --trace=FILE.json, or leave this out");
    if (last > o.rate.steps)
      lacking(where, "the run ends with step " + std::to_string(o.rate.steps),
              "name steps from 1 to " + std::to_string(o.rate.steps));
  }
  if (o.seed && o.dropout == 0)
    lacking("--seed=" + std::to_string(*o.seed), "nothing is drawn without --dropout",
            "add --dropout=P, or leave this out; rows are shuffled by --shuffle=SEED");
  if (o.overwrite && o.save.empty())
    lacking("--overwrite", "nothing is saved", "add --save=DIR, or leave this out");
  for (auto [flag, value] : {std::pair("--save-every=", o.saveEvery), std::pair("--keep=", o.keep)})
    if (value && o.save.empty())
      lacking(flag + std::to_string(*value), "nothing is saved", "add --save=DIR, or leave this out");
}

std::string whatIsTrained(const TrainOptions &o) {
  std::ostringstream text;
  text << std::hexfloat << " train " << int(o.rate.schedule) << " " << o.rate.peak << " " << o.rate.least
       << " " << o.rate.steps << " " << o.rate.warmup << " " << o.rate.decaySteps.value_or(-1) << " "
       << o.epochs;
  for (const std::optional<double> &value : {o.weightDecay, o.beta1, o.beta2, o.momentum, o.epsilon, o.clip})
    text << " " << value.value_or(-1);
  if (o.shuffle)
    text << " shuffle " << *o.shuffle;
  if (o.dropout > 0)
    text << " dropout " << o.dropout << " " << o.seed.value_or(0);
  if (o.documents)
    text << " documents";
  // Files may lie elsewhere on other machines; what is done with them is done together.
  text << " eval " << !o.eval.empty() << " " << o.evalEvery.value_or(-1) << " save " << !o.save.empty() << " "
       << o.saveEvery.value_or(-1) << " " << o.overwrite << " " << o.keep.value_or(-1) << " resume "
       << !o.resume.empty() << " grads " << !o.grads.empty() << " trace " << !o.trace.empty();
  if (o.traceSteps)
    text << " " << o.traceSteps->first << ":" << o.traceSteps->second;
  return text.str();
}

} // namespace tessera::runtime
