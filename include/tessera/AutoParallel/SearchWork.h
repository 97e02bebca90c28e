//===- SearchWork.h - What searching for plans has cost ---------*- C++ -*-===//
//
// Counted, not timed: the same on every machine, whatever else it does. Tests bound it; times are measured in
// bench/.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_SEARCHWORK_H
#define TESSERA_AUTOPARALLEL_SEARCHWORK_H

#include <cstdint>

namespace tessera {

struct SearchWork {
  int64_t reshards = 0;     ///< searches for a way from one sharding to another
  int64_t reshardSteps = 0; ///< steps looked at in them
  int64_t tableEntries = 0; ///< costs of combinations of choices that placement compared

  SearchWork &operator+=(const SearchWork &more) {
    reshards += more.reshards;
    reshardSteps += more.reshardSteps;
    tableEntries += more.tableEntries;
    return *this;
  }
  SearchWork since(const SearchWork &before) const {
    return {reshards - before.reshards, reshardSteps - before.reshardSteps,
            tableEntries - before.tableEntries};
  }
};

/// Of this thread, since it began.
inline SearchWork &searchWork() {
  thread_local SearchWork work;
  return work;
}

} // namespace tessera
#endif
