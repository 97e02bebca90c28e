// Runs one rank's list of a pipeline schedule: what computes is called, values travel between ranks through
// bounded buffers. docs/Schedules.md, "Running".
#ifndef TESSERA_RUNTIME_PIPELINE_EXECUTOR_H
#define TESSERA_RUNTIME_PIPELINE_EXECUTOR_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/pipeline/BufferPlan.h"
#include "tessera/runtime/pipeline/Delays.h"
#include "tessera/runtime/schedule/Schedule.h"

namespace tessera::runtime {

// What a rank's stages do. `in`: the value that the action reads, of the stage before (F) or its gradient, of
// the stage behind (B, I); `out`: where what it gives the next one goes. Null where there is no such stage,
// and for W.
class StageWork {
public:
  virtual ~StageWork() = default;
  // `part` computes and is no pair: a pair is called for its forward, then for its backward.
  virtual void compute(const schedule::Action &part, const void *in, void *out, Stream &stream) = 0;
};

// Who is told how a rank goes along its list: for traces.
class ListObserver {
public:
  virtual ~ListObserver() = default;
  virtual void begins(const schedule::Action &action) = 0;   // its turn has come
  virtual void computes(const schedule::Action &action) = 0; // the messages that it reads are there
  virtual void ends(const schedule::Action &action) = 0;
  // The message is on its way, or awaited, until it is seen to have arrived.
  virtual void travels(const schedule::Action &message, CommToken token) = 0;
  virtual void arrived(CommToken token) = 0;
};

// With what messages take under given delays (Delays.h).
ValueSizes stampedSizes(ValueSizes sizes);

class PipelineExecutor {
public:
  // `schedule` has no actions of whole stages: weights are gathered, and gradients reduced, by the stages'
  // entries. `ranks`: of each coordinate along the pipeline the rank of the communicator. `where`: what the
  // board shows for the list's first action, and one more for each behind it (Board.h). `memory`: of what
  // planBuffers says; null: it has its own. Throws Error for more messages than tags can tell apart,
  // and for lists whose receives stand in another order than the sends where messages have no names.
  PipelineExecutor(const schedule::Schedule &schedule, int32_t rank, std::vector<int64_t> ranks,
                   const ValueSizes &sizes, int32_t sendBuffers, Communicator &communicator, Device &device,
                   int32_t where = 0, std::optional<schedule::Costs> delays = std::nullopt,
                   char *memory = nullptr);

  // Null: nobody is told.
  void observe(ListObserver *observer) { observer_ = observer; }
  // The whole list, once; all that was sent has arrived when it returns.
  void run(StageWork &work, Stream &stream);
  const BufferPlan &buffers() const { return plan_; }

private:
  int64_t tagOf(const schedule::Action &message) const;
  int64_t peerOf(const schedule::Action &message) const;
  size_t bytesOf(const schedule::Action &message) const;
  void travels(const schedule::Action &message, CommToken token);
  void wait(CommToken token, Stream &stream);
  void runAction(size_t index, StageWork &work, Stream &stream);
  // Until a buffer of sends is free; its number.
  size_t freeSendSlot(Stream &stream, int32_t where);
  char *at(int64_t offset) { return offset < 0 ? nullptr : memory_ + offset; }

  const schedule::Schedule &schedule_;
  int32_t rank_;
  std::vector<int64_t> ranks_;
  ValueSizes sizes_;
  Communicator &communicator_;
  int32_t where_;
  std::optional<schedule::Costs> delays_;
  BufferPlan plan_;
  Buffer own_;
  char *memory_;
  ListObserver *observer_ = nullptr;

  // A message that is under way: which, and what to wait for.
  struct Flight {
    schedule::Action message;
    CommToken token;
    size_t slot = 0;
  };
  std::vector<Flight> sent_, posted_;
};

} // namespace tessera::runtime
#endif
