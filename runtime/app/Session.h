// The steps of a generating program on one rank, with global inputs and outputs.
#ifndef TESSERA_RUNTIME_APP_SESSION_H
#define TESSERA_RUNTIME_APP_SESSION_H

#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// Every rank makes the same calls with the same arguments. B = batch, C = chunk, V = vocab. Positions of -1
// are inert.
class Session {
public:
  // Throws Error if the program lacks prefill or decode, or one of their buffers.
  explicit Session(Rank &rank);
  ~Session() { rank_.finish(); } // copies of what it holds may not have run yet

  bool isRoot() const { return rank_.id() == 0; }
  int64_t batch() const { return batch_; }
  int64_t chunk() const { return chunk_; }
  int64_t vocab() const { return vocab_; }
  bool hasHead() const { return head_ >= 0; }

  void clear(); // forgets all context
  void prefill(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
               const std::vector<int32_t> &index);                                        // B x C, B x C, B
  void decode(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions); // B, B
  // Logits of another position of the last prefill's chunk. Does not disturb the context.
  void head(const std::vector<int32_t> &index);

  // Of the last step. The most likely tokens [B]: on every rank.
  std::vector<int32_t> next();
  // Logits [B, V]: at the root only; empty elsewhere. Valid until the next call.
  const std::vector<float> &logits();
  // Replaces `data` by the root's on every rank.
  void shareFromRoot(std::vector<int32_t> &data);

private:
  void setInput(int64_t entry, const char *name, const std::vector<int32_t> &global, int32_t padding);
  void run(int64_t entry);
  // At the root: the global array; elsewhere empty.
  template <typename T> void fetch(const BufferSpec &spec, std::vector<T> &global);

  Rank &rank_;
  int64_t batch_, chunk_, vocab_;
  int64_t prefill_, decode_, head_, last_ = -1;
  Buffer hidden_; // local shard of the prefill's hidden, if hiddenKept_
  bool hiddenKept_ = false;
  std::vector<char> local_, gathered_; // a local shard; blocks of all ranks
  std::vector<float> logits_;
};

} // namespace tessera::runtime
#endif
