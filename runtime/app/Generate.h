// OUT generate: prompts in, text and tokens out.
#ifndef TESSERA_RUNTIME_APP_GENERATE_H
#define TESSERA_RUNTIME_APP_GENERATE_H

#include "Options.h"
#include "TextSession.h"
#include "tessera/runtime/device/Rank.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

class Answers;

// Everything a run needs besides the ranks; made and checked before any rank starts.
struct GenerateJob {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<int64_t> limits; // new tokens at most, per prompt
  std::vector<int32_t> endTokens;
  const text::Tokenizer *tokenizer = nullptr; // null: no text is printed
  double temperature = 0, topP = 1, minP = 0; // temperature 0: the most likely tokens
  double repeatPenalty = 1;                   // 1: none
  int32_t topK = 0;
  uint64_t seed = 0;
  std::vector<std::string> stops;  // texts that end an answer
  std::vector<int32_t> stopTokens; // and ids that do
  bool printTokens = false;
  bool json = false;                 // a line a prompt
  bool quiet = false;                // no progress
  int32_t firstNumber = 0;           // of the first prompt's stream of random numbers
  std::vector<std::string> headings; // what stands over each answer; empty: nothing
  std::string logitsFile;

  bool penalizes() const { return float(repeatPenalty) != 1; }
  // A penalty is taken where tokens are drawn, be it the most likely ones.
  bool draws() const { return temperature > 0 || penalizes(); }
  Drawing drawing() const {
    if (temperature > 0)
      return {temperature, topP, minP, float(repeatPenalty), topK, seed};
    return {1, 1, /*minP=*/1, float(repeatPenalty), /*topK=*/1, seed};
  }
};

// Throws Error on prompts that do not fit the program: empty, too long, ids beyond the vocabulary.
GenerateJob checkGenerate(const Manifest &manifest, const Options &options,
                          const std::vector<std::vector<int32_t>> &prompts);

// What a run took, in seconds, and how many tokens it was for.
struct GenerateTimes {
  double promptSeconds = 0, stepSeconds = 0;
  int64_t promptTokens = 0, stepTokens = 0; // read, and made behind the first one of each answer

  // `before`, and behind it "; prefill: 5 tokens in 0.02 s; decode: 31 tokens in 0.40 s (77.5 tokens/s)";
  // what was for no token is left out.
  std::string line(std::string before) const;
  GenerateTimes &operator+=(const GenerateTimes &other);
};

// Checks that the program can do what the job asks for, and tells it what ends rows and how tokens are drawn.
void prepareGroups(Rank &rank, const std::vector<TextSession *> &groups, const GenerateJob &job);

// Answers the job's prompts. `rows`: how many at once; of the groups each has its share of them (a group may
// have room for more). `from`: how many tokens of the first prompt the caches hold. `isAsked`: whether the
// run is to end now; looked at by the root, between two steps. Returns whether it did.
bool answer(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows, const GenerateJob &job,
            Answers &answers, int64_t from, const std::function<bool()> &isAsked, GenerateTimes &times);

// How a run of `generate` ended.
struct GenerateEnd {
  bool isInterrupted = false;
  GenerateTimes times;
};

// The part of one rank. Output goes out at rank 0 only. `isAsked` as in answer().
GenerateEnd generateOnRank(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows,
                           const GenerateJob &job, const std::function<bool()> &isAsked = nullptr);

} // namespace tessera::runtime
#endif
