// What `generate` asks of the rows that it fills: of a program's (Session), or of one group of a pipeline's
// (StageSession).
#ifndef TESSERA_RUNTIME_APP_TEXTSESSION_H
#define TESSERA_RUNTIME_APP_TEXTSESSION_H

#include "tessera/runtime/core/Manifest.h"

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// What the program says of generating. Throws Error if it does not generate.
const GenerateSpec &generateOf(const Manifest &manifest);

// How tokens are drawn: from softmax(logits / temperature), cut to the topK likeliest (0: all), then to the
// fewest that hold topP of these, and then to those at least minP times as likely as the likeliest. Before,
// logits of tokens that stand in the row's text are divided by repeatPenalty above 0 and multiplied below.
struct Drawing {
  double temperature = 1, topP = 1, minP = 0;
  float repeatPenalty = 1;
  int32_t topK = 0;
  uint64_t seed = 0;
};

// Of prompts that are shared out over groups of rows those of one: as even as can be, the first groups have
// one more. So all groups have work.
inline size_t rowsOfGroup(size_t prompts, size_t groups, size_t group) {
  return prompts / groups + (group < prompts % groups);
}

// Every rank makes the same calls with the same arguments. B = batch, C = one of promptSizes(), V = vocab.
// Positions of -1 are inert.
class TextSession {
public:
  virtual ~TextSession() = default;

  virtual bool isRoot() const = 0;
  virtual int64_t batch() const = 0;
  virtual int64_t chunk() const = 0;
  // Positions of a row that one prompt() may take; ascending, the last one is chunk().
  virtual std::vector<int64_t> promptSizes() const { return {chunk()}; }
  // What goes on with `left` positions of a prompt: few of them in one small piece or two. It follows from
  // the prompt alone, so that its numbers do.
  int64_t promptSize(int64_t left) const {
    for (int64_t size : promptSizes())
      if (left <= 2 * size)
        return size;
    return chunk();
  }
  virtual int64_t vocab() const = 0;
  virtual bool hasPromptLogits() const = 0;

  virtual void clear() = 0; // forgets all context
  // A piece of prompts, and for each row the index of the position whose logits are wanted.
  virtual void prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
                      const std::vector<int32_t> &index) = 0; // B x C, B x C, B
  virtual void advance(const std::vector<int32_t> &tokens,
                       const std::vector<int32_t> &positions) = 0; // one token a row: B, B
  // The same with what the entry before chose, for rows that prompt() or advance() made: only where
  // goesOn(). Rows at the end of the context are inert.
  virtual void advance() = 0;
  // The program keeps the rows of the next step: nobody has to read a token before the step that takes it.
  virtual bool goesOn() const = 0;
  // How many calls may be given before what the first of them chose is read: of advance() where goesOn(), of
  // prompt() in any case.
  virtual int64_t stepsAhead() const = 0;

  virtual bool draws() const = 0; // the next five only then
  virtual void setDrawing(const Drawing &drawing) = 0;
  // For each row the number of its prompt and that one's length; -1: nothing is drawn for it. B, B. They
  // stay.
  virtual void setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) = 0;
  // The text of `row` has these tokens and those that are drawn for it from now on, and no others.
  virtual void setSeenTokens(size_t row, const std::vector<int32_t> &tokens) = 0;
  // Draws tokens from the logits of the last entry that ran, which are the next tokens from then on.
  // `positions`, where not goesOn(): of the tokens that are drawn. B
  virtual void draw(const std::vector<int32_t> &positions) = 0;
  virtual void advanceDrawing() = 0; // advance() and draw() as one call: only where goesOn()
  // These rows go on with nothing until a prompt of theirs ends. Where goesOn(); elsewhere the caller says
  // what rows do.
  virtual void hold(const std::vector<size_t> &rows) = 0;
  // Rows whose token is one of `ids` are inert behind it: the likeliest one, or `drawn`. As many as the
  // program looks for; the caller sees to the others, and to all where it looks for none. They stay.
  virtual void setEndTokens(const std::vector<int32_t> &ids, bool drawn) = 0;
  // Logits of another position of the last piece of prompts, which had chunk() positions and nothing was
  // called behind. Does not disturb the context.
  virtual void promptLogits(const std::vector<int32_t> &index) = 0;

  // The next tokens [B], on every rank: the most likely, or drawn. sendNext: those of the last entry that ran
  // go to the host, while it goes on; at most stepsAhead() + 1 are on their way. takeNext waits for those
  // that were sent first, dropNext forgets all.
  virtual void sendNext() = 0;
  virtual std::vector<int32_t> takeNext() = 0;
  virtual void dropNext() = 0;
  // Of the last entry that ran, with none on their way.
  std::vector<int32_t> next() {
    sendNext();
    return takeNext();
  }
  // Of the last entry that gave some, [B, V]: at the root only; empty elsewhere. Valid until the next call.
  virtual const std::vector<float> &logits() = 0;
};

} // namespace tessera::runtime
#endif
