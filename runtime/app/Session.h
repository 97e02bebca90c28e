// The entries that generate text, on one rank, with global inputs and outputs. What they are and what fills
// their inputs says the manifest ("generate").
#ifndef TESSERA_RUNTIME_APP_SESSION_H
#define TESSERA_RUNTIME_APP_SESSION_H

#include "TextSession.h"
#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime {

class Session final : public TextSession {
public:
  // Throws Error if the program does not generate text.
  explicit Session(Rank &rank);
  ~Session() override { rank_.finish(); } // copies of what it holds may not have run yet

  bool isRoot() const override { return rank_.id() == 0; }
  int64_t batch() const override { return generate_.batch; }
  int64_t chunk() const override { return generate_.chunk; }
  std::vector<int64_t> promptSizes() const override;
  int64_t vocab() const override { return generate_.vocab; }
  bool hasPromptLogits() const override { return generate_.logits >= 0; }

  void clear() override;
  void prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
              const std::vector<int32_t> &index) override;
  void advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) override;
  void advance() override;
  bool goesOn() const override { return generate_.tokenState >= 0; }
  int64_t stepsAhead() const override { return goesOn() ? rank_.device().stepsAhead() : 0; }
  using Drawing = runtime::Drawing;
  bool draws() const override { return generate_.draw >= 0; }
  void setDrawing(const Drawing &drawing) override;
  void setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) override;
  void setSeenTokens(size_t row, const std::vector<int32_t> &tokens) override;
  void setEndTokens(const std::vector<int32_t> &ids, bool drawn) override;
  void hold(const std::vector<size_t> &rows) override;
  void draw(const std::vector<int32_t> &positions = {}) override;
  void advanceDrawing() override;
  void promptLogits(const std::vector<int32_t> &index) override;

  void sendNext() override;
  std::vector<int32_t> takeNext() override;
  void dropNext() override { taken_ = sent_; }
  const std::vector<float> &logits() override;
  // Replaces `data` by the root's on every rank.
  void shareFromRoot(std::vector<int32_t> &data);

private:
  struct Content {
    const std::vector<int32_t> *tokens = nullptr, *positions = nullptr, *index = nullptr;
  };
  // The shard of this rank to device memory.
  void give(const BufferSpec &to, const std::vector<int32_t> &global, int32_t padding);
  void set(const StateSpec &state, const void *value, size_t bytes);
  void ran(int64_t entry);
  // Fills the inputs of an entry as the manifest says, and runs it.
  void run(int64_t entry, const Content &content);
  void fillFromOutput(const InputSpec &input);
  // At the root: the global array; elsewhere empty. T is the type that
  // Manifest::parse holds such outputs to, or char: their bytes.
  template <typename T> void fetch(const BufferSpec &spec, std::vector<T> &global);
  // The same of the shard of this rank in local_.
  template <typename T> void gather(const BufferSpec &spec, std::vector<T> &global);

  Rank &rank_;
  const GenerateSpec &generate_;
  int64_t last_ = -1, lastWithLogits_ = -1;
  // A copy of an output that fills inputs, the local shard: an entry may use the space of its inputs, and
  // more than one may want it.
  struct RetainedOutput {
    Buffer memory;
    bool isLast = false; // what the entry gave last
  };
  std::map<std::pair<int64_t, int64_t>, RetainedOutput> retained_; // by entry and number of the output
  std::vector<char> local_, gathered_;                             // a local shard; blocks of all ranks
  std::vector<float> logits_;
  // Tokens on their way to the host.
  struct SentNext {
    HostBuffer memory;
    std::unique_ptr<Event> copied;
    const OutputSpec *from = nullptr;
  };
  std::vector<SentNext> ring_;
  size_t sent_ = 0, taken_ = 0;
};

} // namespace tessera::runtime
#endif
