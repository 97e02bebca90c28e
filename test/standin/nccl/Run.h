// What a rank has called and a stream carries out: bytes to and from the other ranks, checked against what
// they call.
#ifndef TESSERA_TEST_STANDIN_NCCL_RUN_H
#define TESSERA_TEST_STANDIN_NCCL_RUN_H

#include "Communicator.h"
#include "Waits.h"

#include <chrono>
#include <deque>
#include <string>
#include <vector>

namespace standin::nccl {

enum class Kind : int32_t { AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, Send, Recv };

struct Call {
  Kind kind;
  const char *src;
  char *dst;
  size_t count;
  tessera::nccl::ncclDataType_t type;
  tessera::nccl::ncclRedOp_t operation;
  int peer; // of messages; the root of a broadcast or reduction
  bool isMessage() const { return kind == Kind::Send || kind == Kind::Recv; }
};

// Calls that go on together: one, or those of a group on one communicator and stream.
struct Batch {
  std::shared_ptr<Communicator> comm;
  std::vector<Call> calls;
  std::string name;
  bool captured = false; // into a graph, which may run it many times
};

class Run {
public:
  explicit Run(const Batch &batch);
  ~Run();
  // Goes on as far as it can; true once all calls are done. Ends the process with a finding if ranks call
  // different things, or wait for each other in a circle.
  bool advance();

private:
  // The head of what a rank sends: what it calls.
  struct Key {
    int32_t kind, type, operation, root;
    uint64_t turn, count;
  };
  static std::string describe(const Key &key);
  struct Flow {
    Key key;
    const char *src = nullptr;
    char *dst = nullptr;
    size_t bytes = 0, at = 0; // the key counts
    uint64_t end = 0;         // of the ring, once all is in it
  };

  void beginCall(const Call &call);
  void finishCall(const Call &call);
  void out(int peer, const Key &key, const char *src, size_t bytes);
  void in(int peer, const Key &key, char *dst, size_t bytes);
  bool move();
  void send(int peer);
  void receive(int peer);
  void check(int peer, const Key &expected, const Key &come);
  uint64_t missing();

  const Batch &batch_;
  Communicator &comm_;
  // Collectives of a group go on one after another, then its messages together.
  std::vector<std::vector<const Call *>> steps_;
  size_t step_ = 0;
  bool begun_ = false; // steps_[step_]
  uint64_t turn_ = 0;  // of the collective, on its communicator
  std::vector<std::deque<Flow>> out_, in_;
  std::vector<Key> come_; // by peer; of the flow that is on
  std::vector<std::vector<char>> parts_;
  std::unique_ptr<WaitingPlace> place_;
  bool moved_ = false;
  std::chrono::steady_clock::time_point since_;
};

} // namespace standin::nccl
#endif
