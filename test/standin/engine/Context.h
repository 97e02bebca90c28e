// What generated code and the engine's functions share: the layout of a thread and of its block, and what a
// place in the code is. Retarget.cpp turns kernels into functions whose first argument is a ThreadContext.
#ifndef TESSERA_STANDIN_CONTEXT_H
#define TESSERA_STANDIN_CONTEXT_H

#include <cstddef>
#include <cstdint>

namespace standin {

// The live range that an instruction touched last, so that the check in generated code is one comparison:
// `address - begin > limit` is wrong or not known yet. `limit` is the range's size less the access's.
struct SiteRange {
  uintptr_t begin, limit;
};
constexpr SiteRange kNoRange = {~uintptr_t(0), 0};

struct BlockContext {
  uint32_t ctaid[3], ntid[3], nctaid[3];
  uint32_t dynamicBytes, staticBytes; // of shared memory
  char *shared, *dynamic;             // static variables; behind them the dynamic part
  char *globals;                      // the image's
  SiteRange *ranges;                  // one for each site of the program
};

// How many atomics and volatile accesses a thread does before the others get a turn: a spin must not keep out
// whom it waits for.
constexpr int32_t kPatience = 64;

struct ThreadContext {
  uint32_t tid[3];
  uint32_t lane, warp;
  int32_t patience; // what is left of kPatience
  BlockContext *block;
};

// A place in the code that can be wrong: an access, a barrier, a warp operation. A constant table in
// generated code.
struct Site {
  uint32_t bytes, flags;
  uint32_t align; // that the instruction promised
  uint32_t objectOffset,
      objectBytes; // the static shared variable that is accessed, where the code says which; 0 bytes: unknown
  uint32_t unused;
  const char *text; // `store at k.cu:12`, or the instruction
};
enum SiteFlags : uint32_t {
  kRead = 1,
  kWrite = 2,
  kAtomic = 4,
  kAcquire = 8,
  kRelease = 16,
  kBlockScope = 32, // an atomic or a fence for the threads of a block only
};

} // namespace standin
#endif
