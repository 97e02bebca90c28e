// What a rank does in some steps of a training run, and when: --trace.
#ifndef TESSERA_RUNTIME_APP_STEPTRACE_H
#define TESSERA_RUNTIME_APP_STEPTRACE_H

#include "StepObserver.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::runtime {

// Each of them is a row of the picture; of collectives and of messages several, where they go on at the same
// time. Parts: of a pipeline's step, the actions of its list among them.
enum class TraceRow : uint8_t { Step, Part, Compute, Wait, Collective, Message };

struct TraceSlice {
  TraceRow row = TraceRow::Step;
  CallKind kind = CallKind::Loop;     // what was called
  const CallSpec *call = nullptr;     // null: a whole step, a part, a message. Of a wait what is waited for
  const Manifest *manifest = nullptr; // of the program that called
  uint32_t place = 0;                 // of StepTrace::places(): which part, which layer, which micro-batch
  int64_t step = 0;
  int64_t begin = 0, end = 0; // nanoseconds, of this machine's steady clock
};

// Observes steps whose entries have no counts. Times are those around the runtime's functions: on the CPU
// what a call asks for is done when it returns, but for what ts_collective_start begins, which ends where
// this rank sees its end. Memory is bounded: what is beyond kMostSlices is left out, and said.
class StepTrace : public StepObserver {
public:
  static constexpr size_t kMostSlices = size_t(1) << 20;

  void beginStep(int64_t step);
  void endStep();

  void entered(Rank &program, const EntrySpec &entry, const CalledPart &part) override {
    entered(program.manifest(), entry, part);
  }
  void entered(const Manifest &manifest, const EntrySpec &entry, const CalledPart &part);
  void left() override;
  void begin(const ObservedCall &call) override;
  void end(const ObservedCall &call) override;
  void ended(CommToken token) override;
  void begins(const schedule::Action &action) override;
  void computes(const schedule::Action &action) override;
  void ends(const schedule::Action &action) override;
  void travels(const schedule::Action &message, CommToken token) override;
  void arrived(CommToken token) override;

  // In the order in which they ended.
  const std::vector<TraceSlice> &slices() const { return slices_; }
  const std::vector<std::string> &places() const { return places_; }
  bool isWhole() const { return !full_; }

private:
  struct Begun {
    TraceSlice slice;
    int64_t end = 0; // 0: not seen yet
  };
  uint32_t placeNumber(const std::string &place);
  void add(const TraceSlice &slice);
  // What was begun is over, at `end` if nobody saw it before; false: it was not.
  bool addBegun(CommToken token, int64_t end, TraceSlice &over);

  const Manifest *manifest_ = nullptr;
  std::string part_;
  const std::vector<int64_t> counts_;
  std::optional<CallCursor> cursor_;
  int64_t step_ = 0, stepBegin_ = 0, callBegin_ = 0, partBegin_ = 0, actionBegin_ = 0;
  bool inAction_ = false;
  std::mutex mutex_; // of begun_: whoever goes on with communication says what ended
  std::map<CommToken, Begun> begun_;
  std::vector<TraceSlice> slices_;
  std::vector<std::string> places_;
  std::unordered_map<std::string, uint32_t> placeNumbers_;
  bool full_ = false;
};

} // namespace tessera::runtime
#endif
