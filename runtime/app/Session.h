// The entries that generate text, on one rank, with global inputs and outputs. What they are and what fills
// their inputs says the manifest ("generate").
#ifndef TESSERA_RUNTIME_APP_SESSION_H
#define TESSERA_RUNTIME_APP_SESSION_H

#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime {

// What the program says of generating. Throws Error if it does not generate.
const GenerateSpec &generateOf(const Manifest &manifest);

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
  // The same with what the entry before chose, for rows that prompt() or advance() made: only where
  // goesOn(). Rows at the end of the context are inert.
  void advance();
  // The program keeps the rows of the next step: nobody has to read a token before the step that takes it.
  bool goesOn() const { return generate_.tokenState >= 0; }
  // How many calls of advance() may be given before what the first of them chose is read.
  int64_t stepsAhead() const { return goesOn() ? rank_.device().stepsAhead() : 0; }
  // How tokens are drawn: from softmax(logits / temperature), cut to the topK likeliest (0: all) and then to
  // the fewest that hold topP of these. Only where draws().
  struct Drawing {
    double temperature = 1, topP = 1;
    int32_t topK = 0;
    uint64_t seed = 0;
  };
  bool draws() const { return generate_.draw >= 0; }
  void setDrawing(const Drawing &drawing);
  // For each row the number of its prompt and that one's length; -1: nothing is drawn for it. B, B. They
  // stay.
  void setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths);
  // Rows whose token is one of `ids` are inert behind it: the likeliest one, or `drawn`. As many as the
  // program looks for; the caller sees to the others, and to all where it looks for none. They stay.
  void setEndTokens(const std::vector<int32_t> &ids, bool drawn);
  // Draws tokens from the logits of the last entry that ran, which are the next tokens from then on.
  // `positions`, where not goesOn(): of the tokens that are drawn. B
  void draw(const std::vector<int32_t> &positions = {});
  // advance() and draw() as one call: only where goesOn().
  void advanceDrawing();
  // Logits of another position of the last chunk of prompts. Does not disturb the context.
  void promptLogits(const std::vector<int32_t> &index);

  // The next tokens [B], on every rank: the most likely, or drawn. sendNext: those of the last entry that ran
  // go to the host, while it goes on; at most stepsAhead() + 1 are on their way. takeNext waits for those
  // that were sent first, dropNext forgets all.
  void sendNext();
  std::vector<int32_t> takeNext();
  void dropNext() { taken_ = sent_; }
  // Of the last entry that ran, with none on their way.
  std::vector<int32_t> next() {
    sendNext();
    return takeNext();
  }
  // Of the last entry that gave some, [B, V]: at the root only; empty elsewhere. Valid until the next call.
  const std::vector<float> &logits();
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
