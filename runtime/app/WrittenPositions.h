// How far the caches of a row are written, and from where it can go on.
#ifndef TESSERA_RUNTIME_APP_WRITTENPOSITIONS_H
#define TESSERA_RUNTIME_APP_WRITTENPOSITIONS_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tessera::runtime {

// A cache in a ring has the last positions that were written: a row that goes back farther than `rewind`
// (GenerateSpec) does not find what it sees there, and begins anew.
class WrittenPositions {
public:
  // `stepsAhead`: steps that may have been given when a row is known to be over. They write as well.
  WrittenPositions(std::optional<int64_t> rewind, int64_t stepsAhead)
      : rewind_(rewind), stepsAhead_(stepsAhead) {}

  // The row went on at position `from`, up to `to` (not included) as far as is known.
  void add(int64_t from, int64_t to) {
    // What stood behind the end of an older text is in the way of what stands before it: places are shared.
    end_ = std::max(from == 0 ? 0 : end_, to + stepsAhead_ + 1);
  }

  // `from`, or 0 if the row cannot go on there.
  int64_t reachable(int64_t from) const { return rewind_ && end_ - from > *rewind_ ? 0 : from; }

private:
  std::optional<int64_t> rewind_;
  int64_t stepsAhead_, end_ = 0;
};

} // namespace tessera::runtime
#endif
