// cp.async: copies from global to shared memory that land when they are waited for, not before.
#ifndef TESSERA_STANDIN_ASYNC_H
#define TESSERA_STANDIN_ASYNC_H

#include "Scheduler.h"

#include <deque>

namespace standin {

// The copies of one thread. They land as late as they may: what reads the destination before its wait finds
// poison, what writes the source before it is copied.
struct AsyncCopies {
  struct Copy {
    char *to;
    const char *from;
    uint32_t bytes, taken; // the rest is zero
    uint32_t site;
  };
  std::vector<Copy> open; // not committed yet
  std::deque<std::vector<Copy>> groups;

  void forget() {
    open.clear();
    groups.clear();
  }
};

} // namespace standin
#endif
