// The calls of an entry, by name: what generated code asks of the runtime, in the order in which it asks
// (docs/Manifest.md, "calls"). Generated code does not say which call one is; whoever has to know follows it.
#ifndef TESSERA_RUNTIME_CORE_CALLTREE_H
#define TESSERA_RUNTIME_CORE_CALLTREE_H

#include "tessera/runtime/io/DType.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

struct Manifest;

// As the functions of abi.h.
enum class CallKind {
  Loop,
  Launch,
  Matmul,
  GatherPacked,
  Pack,
  Collective,
  Start,
  Wait,
  Send,
  Receive,
  Copy,
  ReadFlag
};
const char *callKindName(CallKind kind); // "matmul"

struct CallSpec {
  CallKind kind = CallKind::Launch;
  // Of a launch the kernel, and of its last buffers, which it writes: their elements, those of one layer of a
  // stack if it writes one, by its first scalar. Of a gather the same of what it gives.
  std::string kernel;
  struct Gives {
    io::DType type = io::DType::F32;
    int64_t elements = 0;
    bool oneLayer = false;
  };
  std::vector<Gives> gives;
  int64_t id = -1; // of a matmul, a collective, a parameter, a flag
  std::string value;
  // Which iteration of which loop of the program it is: scale * index + offset, of the index of the loop that
  // it stands in, innermost first. Scale 0: of none.
  struct Iteration {
    std::string loop;
    int64_t scale = 0, offset = 0;
  };
  std::vector<Iteration> at;
  // Of a loop: index = 0, step, ... below `count`, or below the count of that number that the call gives. One
  // with a flag runs only if that was read as `ifFlag`.
  int64_t count = 0, step = 1, countNumber = -1, flagNumber = -1;
  bool ifFlag = true;
  std::vector<CallSpec> calls;

  // "matmul", "all_reduce", or a kernel's name.
  std::string operation(const Manifest &manifest) const;
};

// Follows one call of an entry. Both vectors must outlive it.
class CallCursor {
public:
  // `firstLayer`: which layer of the model the program's first one is.
  CallCursor(const std::vector<CallSpec> &calls, const std::vector<int64_t> &counts, int64_t firstLayer = 0);

  // The next call, which must be of that kind: throws Error if the entry has no such call here, which means
  // that program and manifest are not of one compilation. Valid until the next one.
  const CallSpec &next(CallKind kind);
  // What the flag that next() gave last was read as: the calls that follow depend on it.
  void tellFlag(bool flag);
  // "layer 3, micro-batch 1" of the call that next() gave last; empty: it stands in no loop.
  std::string place() const;

private:
  struct Frame {
    const std::vector<CallSpec> *calls;
    size_t at;
    int64_t index, count, step;
  };
  void settle();

  const std::vector<int64_t> &counts_;
  std::vector<bool> flags_; // by number, as they were read last
  int64_t firstLayer_;
  std::vector<Frame> frames_; // outermost first; the last one's `at` is the next call
  const CallSpec *last_ = nullptr;
  std::vector<int64_t> indices_; // of the loops around `last_`, outermost first
};

} // namespace tessera::runtime
#endif
