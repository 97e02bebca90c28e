// OUT generate: prompts in, text and tokens out.
#ifndef TESSERA_RUNTIME_APP_GENERATE_H
#define TESSERA_RUNTIME_APP_GENERATE_H

#include "Options.h"
#include "TextSession.h"
#include "tessera/runtime/device/Rank.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <string>
#include <vector>

namespace tessera::runtime {

// Everything a run needs besides the ranks; made and checked before any rank starts.
struct GenerateJob {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<int64_t> limits; // new tokens at most, per prompt
  std::vector<int32_t> endTokens;
  const text::Tokenizer *tokenizer = nullptr; // null: no text is printed
  double temperature = 0, topP = 1;           // 0: the most likely tokens
  int32_t topK = 0;
  uint64_t seed = 0;
  bool printTokens = false;
  std::string logitsFile;
};

// Throws Error on prompts that do not fit the program: empty, too long, ids beyond the vocabulary.
GenerateJob checkGenerate(const Manifest &manifest, const Options &options,
                          const std::vector<std::vector<int32_t>> &prompts);

// The part of one rank. Output goes out at rank 0 only. `groups`: of rows, each on its way by itself. A round
// has `rows` prompts, as the program was compiled for: a group may have room for more than its share.
void generateOnRank(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows,
                    const GenerateJob &job);

} // namespace tessera::runtime
#endif
