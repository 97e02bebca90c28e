// Which call of a step is the first to give a number that is not finite.
#ifndef TESSERA_RUNTIME_APP_FIRSTNOTFINITE_H
#define TESSERA_RUNTIME_APP_FIRSTNOTFINITE_H

#include "StepObserver.h"

#include <map>
#include <optional>
#include <string>

namespace tessera::runtime {

// Observes one step, whose entries may have no counts, and looks at all that each of their calls writes, as
// soon as it is written: every stream is waited for behind every call.
class FirstNotFinite : public StepObserver {
public:
  void entered(Rank &program, const EntrySpec &entry, const CalledPart &part) override;
  void begin(const ObservedCall &) override {}
  void end(const ObservedCall &call) override;

  // Where it stands among all calls of all ranks: what it reads has smaller numbers. -1: there is none.
  int64_t number() const { return number_; }
  // "layer 3: mlp (silu_mul_1x16x80) gives nan at 17 of 1280"
  const std::string &text() const { return text_; }

private:
  void look(const CallSpec &spec, const std::string &place, io::DType type, int64_t elements,
            const void *address);

  Rank *program_ = nullptr;
  CalledPart part_;
  const std::vector<int64_t> counts_;
  std::optional<CallCursor> cursor_; // of the entry at hand, if its calls have names
  struct Begun {
    const CallSpec *spec;
    std::string place;
    const void *dst;
  };
  std::map<int64_t, Begun> begun_; // by token
  int64_t calls_ = 0, number_ = -1;
  std::string text_;
};

// "rank 1, layer 3: ..." of the call that was the first of all ranks; the same on all, which all call it.
// Empty: no rank has found one.
std::string firstOfAllRanks(HostPlane &plane, int64_t number, const std::string &text);

} // namespace tessera::runtime
#endif
