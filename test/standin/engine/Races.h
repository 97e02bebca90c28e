#ifndef TESSERA_STANDIN_RACES_H
#define TESSERA_STANDIN_RACES_H
#include "Scheduler.h"
namespace standin {
class Races {
public:
  void arrive(Thread &, uint32_t) {}
  void complete(Block &, uint32_t) {}
  void leave(Thread &, uint32_t) {}
  void warpSync(Thread &, uint32_t) {}
  void started(Thread &, uintptr_t, uint32_t, uint32_t) {}
  void landed(Thread &, uintptr_t, uint32_t, uintptr_t, uint32_t, uint32_t) {}
};
} // namespace standin
#endif
