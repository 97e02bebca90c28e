// The entries that generate text, on one rank, with global inputs and outputs. What they are and what fills
// their inputs says the manifest ("generate").
#ifndef TESSERA_RUNTIME_APP_SESSION_H
#define TESSERA_RUNTIME_APP_SESSION_H

#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime {

// Every rank makes the same calls with the same arguments. B = batch, C = chunk, V = vocab. Positions of -1
// are inert.
class Session {
public:
  // Throws Error if the program does not generate text.
  explicit Session(Rank &rank);
  ~Session() { rank_.finish(); } // copies of what it holds may not have run yet

  bool isRoot() const { return rank_.id() == 0; }
  int64_t batch() const { return generate_.batch; }
  int64_t chunk() const { return generate_.chunk; }
  int64_t vocab() const { return generate_.vocab; }
  bool hasPromptLogits() const { return generate_.logits >= 0; }

  void clear(); // forgets all context
  // A chunk of prompts, and for each row the index of the position whose logits are wanted.
  void prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
              const std::vector<int32_t> &index); // B x C, B x C, B
  void advance(const std::vector<int32_t> &tokens,
               const std::vector<int32_t> &positions); // one token a row: B, B
  // Logits of another position of the last chunk of prompts. Does not disturb the context.
  void promptLogits(const std::vector<int32_t> &index);

  // Of the last entry that ran. The most likely tokens [B]: on every rank.
  std::vector<int32_t> next();
  // Logits [B, V]: at the root only; empty elsewhere. Valid until the next call.
  const std::vector<float> &logits();
  // Replaces `data` by the root's on every rank.
  void shareFromRoot(std::vector<int32_t> &data);

private:
  struct Content {
    const std::vector<int32_t> *tokens = nullptr, *positions = nullptr, *index = nullptr;
  };
  // Fills the inputs of an entry as the manifest says, and runs it.
  void run(int64_t entry, const Content &content);
  void fillFromOutput(const InputSpec &input);
  // At the root: the global array; elsewhere empty. T is the type that
  // Manifest::parse holds such outputs to, or char: their bytes.
  template <typename T> void fetch(const BufferSpec &spec, std::vector<T> &global);

  Rank &rank_;
  const GenerateSpec &generate_;
  int64_t last_ = -1;
  // A copy of an output that fills inputs, the local shard: an entry may use the space of its inputs, and
  // more than one may want it.
  struct RetainedOutput {
    Buffer memory;
    bool isLast = false; // what the entry gave last
  };
  std::map<std::pair<int64_t, int64_t>, RetainedOutput> retained_; // by entry and number of the output
  std::vector<char> local_, gathered_;                             // a local shard; blocks of all ranks
  std::vector<float> logits_;
};

} // namespace tessera::runtime
#endif
