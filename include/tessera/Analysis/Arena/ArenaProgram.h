//===- ArenaProgram.h - What a host program does to its arena ---*- C++ -*-===//
//
// Plain data, no IR: the accesses of one entry in order, loops with their bounds, and what `checkArena` finds
// wrong with them. A buffer is a place in the arena that one value, or values that follow from each other,
// live in; two buffers may lie over each other if they are not needed at the same time, which is what the
// check is about.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_ARENA_ARENAPROGRAM_H
#define TESSERA_ANALYSIS_ARENA_ARENAPROGRAM_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class AccessMode {
  Read,   ///< needs the old content
  Write,  ///< overwrites every byte and needs none of the old content
  Update, ///< changes some of the old content, which it needs
};

/// sum of factor * (index of the enclosing loop at that depth) + constant; depth 0 is the outermost loop.
struct ArenaIndex {
  llvm::SmallVector<std::pair<int, int64_t>, 2> factors; ///< (depth of the loop, factor)
  int64_t constant = 0;
};

/// One layer of a stack.
struct ArenaLayer {
  ArenaIndex index;
  int64_t layers = 0; ///< of the stack
  int64_t bytes = 0;  ///< of one layer
};

struct ArenaAccess {
  int buffer = 0;
  llvm::SmallVector<ArenaLayer, 1> layers; ///< views of views; none: from the start of the buffer
  int64_t bytes = 0;
  AccessMode mode = AccessMode::Read;
  bool inPlace = false; ///< of a read: the op may write exactly these bytes
};

/// An op: first all its reads, then all its writes.
struct ArenaOp {
  llvm::SmallVector<ArenaAccess, 4> accesses;
  int starts = -1;                    ///< the token that ends its work; -1: done when the next op begins
  llvm::SmallVector<int, 1> waitsFor; ///< tokens
  bool mayBeUnread = false;           ///< has another effect than what it writes
  // Of interest to checkOrder (tessera/Analysis/Order/Order.h) alone.
  int stream = 0;
  int records = -1;          ///< the event that stands for this place from here on
  int awaits = -1;           ///< the event whose place the stream waits for
  bool communicates = false; ///< other ranks take part; what it starts begins in the order of its stream
};

struct ArenaItem;
/// index = 0, step, 2 step, ... < count, for some count in [least, most].
struct ArenaLoop {
  int64_t least = 0, most = 0, step = 1;
  int other = -1; ///< the tag of a loop before it in its block that runs once where this one does not run,
                  ///< and the other way round; -1: the counts of loops have nothing to do with each other
  std::vector<ArenaItem> body;
};
struct ArenaItem {
  int tag = 0; ///< the caller's, for violations
  ArenaOp op;
  std::unique_ptr<ArenaLoop> loop; ///< if any: the item is a loop and `op` is empty
};

struct ArenaBuffer {
  int64_t offset = 0, bytes = 0;
  int memory = 0; ///< 0: the arena; above: a form of a parameter, below: what launches of a kernel share.
                  ///< Both are memory of their own that the runtime has written. Buffers of one memory may be
                  ///< the same bytes
};

/// An input, output or state of any entry: a place that outlives the call.
struct ArenaPort {
  int64_t offset = 0, bytes = 0;
  bool given = false;    ///< the entry may read it: the runtime has written it
  bool returned = false; ///< the entry leaves a value there. What it does not return it must not touch
  bool updated = false;  ///< a value of its own, not the one that was given: some op writes there
};

struct ArenaProgram {
  int64_t bytes = 0; ///< of the arena
  std::vector<ArenaBuffer> buffers;
  std::vector<ArenaPort> ports;
  std::vector<ArenaItem> items;
};

struct ArenaViolation {
  int tag = -1;     ///< the item; -1: the end of the entry
  int access = -1;  ///< of its op; -1: the item itself
  int other = -1;   ///< an item that has to do with it, if any
  std::string what; ///< a predicate about the access: "reads bytes [64, 128), which nobody has written"
};

/// Runs the program on ranges of bytes: every iteration of every loop, for all counts at once. Finds the
/// first access that leaves its buffer or the arena, reads what was not written or has been overwritten
/// through another buffer, writes what it reads itself, what work in flight needs or a port that is not
/// returned; ports that are not written at the end; values that nobody reads. Cost: executions of ops times
/// the logarithm of the buffers alive; a loop whose body does the same to the same bytes in every iteration
/// is run until nothing changes.
std::optional<ArenaViolation> checkArena(const ArenaProgram &program);

} // namespace tessera
#endif
