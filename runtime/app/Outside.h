// A rank that reads or writes files says so: it may take any time (Board.h).
#ifndef TESSERA_RUNTIME_APP_OUTSIDE_H
#define TESSERA_RUNTIME_APP_OUTSIDE_H

#include "tessera/runtime/core/Board.h"

namespace tessera::runtime {

class Outside {
public:
  explicit Outside(BoardEntry &entry)
      : entry_(entry), before_(entry.activity.exchange(int32_t(Activity::Outside))) {}
  ~Outside() { entry_.activity = before_; }
  Outside(const Outside &) = delete;

private:
  BoardEntry &entry_;
  int32_t before_;
};

} // namespace tessera::runtime
#endif
