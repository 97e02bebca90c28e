// The command line of an executable that llm-compile made.
#ifndef TESSERA_RUNTIME_APP_OPTIONS_H
#define TESSERA_RUNTIME_APP_OPTIONS_H

#include "tessera/runtime/train/LearningRate.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::runtime {

struct Prompt {
  bool isText = false;
  std::string text;            // --prompt
  std::vector<int32_t> tokens; // --tokens; for text: after encoding
  std::string file;            // --prompt-file: stands for the prompts in it, until readPromptFiles
  std::string where;           // of a line of a file: "FILE, line N"

  // What errors call it; `index` counts from 0.
  std::string name(size_t index) const {
    return where.empty() ? "prompt " + std::to_string(index + 1) : where;
  }
};

// Of train. What is not given has the value of the program's defaults (docs/Train.md).
struct TrainOptions {
  std::string data;         // --data
  train::LearningRate rate; // with --steps
  bool stepsGiven = false;
  std::optional<double> weightDecay, beta1, beta2, momentum, epsilon, clip;
  int64_t epochs = 1;
  std::optional<uint64_t> shuffle;
  double dropout = 0;           // --dropout
  std::optional<uint64_t> seed; // of what is dropped
  bool documents = false;       // --documents
  std::string eval;             // empty: none
  std::optional<int64_t> evalEvery;
  std::string log;  // empty: none
  std::string save; // empty: none
  std::optional<int64_t> saveEvery, keep;
  bool overwrite = false;                                // --overwrite: saves of an earlier run may go
  std::string resume;                                    // empty: from the start
  std::string grads;                                     // empty: no file of gradients
  std::string trace;                                     // empty: none
  std::optional<std::pair<int64_t, int64_t>> traceSteps; // from 1, both included; none: the first three
};

struct Options {
  // Text: something is to be printed, and nothing else.
  enum class Command { Generate, Chat, Train, Bench, Plot, Info, Text } command = Command::Generate;

  std::vector<Prompt> prompts; // in the order of the command line
  std::optional<int64_t> maxNewTokens;
  double temperature = 0; // 0: greedy
  double topP = 1;
  double minP = 0;          // 0: all
  double repeatPenalty = 1; // 1: none
  int64_t topK = 0;         // 0: all
  uint64_t seed = 0;
  std::vector<std::string> stops; // --stop
  bool chat = false;              // of generate: prompts are messages
  std::optional<std::string> system;
  std::vector<std::pair<std::string, std::string>> templateArguments; // --template-arg, as they were given
  bool quiet = false;
  bool printTokens = false;
  std::string logitsFile; // empty: none

  bool json = false;
  std::optional<int64_t> promptLength, decodeSteps;
  std::string machineFile;         // of bench; empty: it measures the program
  std::optional<double> peakFlops; // --peak-flops: of all ranks together; none: measured

  TrainOptions train;

  std::vector<std::string> logs; // of plot
  std::string plotFile;

  std::string text;  // what Command::Text prints
  std::string model; // empty: the model compiled from
  std::optional<uint64_t> initSeed;
  std::optional<int64_t> threads;
};

// Flags are `--name=VALUE` or `--name VALUE`. Throws Error on a missing or unknown command, on an unknown
// flag (it names the nearest), on a value that cannot be read. Ranges that depend on the program are not
// checked here. `has`: whether the program has a command; help shows no examples of others. `check` is called
// once the flags of a command are read, before one that is missing is an error: it throws where the program
// has no such command.
Options parseOptions(int argc, char **argv, const std::function<bool(Options::Command)> &has = nullptr,
                     const std::function<void(Options::Command)> &check = nullptr);

// Puts the lines of --prompt-file in its place: each is a prompt, but for empty ones at the end. `-` is
// standard input. Throws Error on files that cannot be read, and on an empty line, which says nothing to go
// on with.
void readPromptFiles(Options &options);

// What of `options` decides the numbers: equal texts, equal results. Where files lie and how many threads
// there are may differ from machine to machine.
std::string whatIsComputed(const Options &options);

} // namespace tessera::runtime
#endif
