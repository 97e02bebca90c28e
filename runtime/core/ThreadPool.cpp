#include "tessera/runtime/core/ThreadPool.h"

#include "tessera/runtime/core/Board.h"

#include <algorithm>

namespace tessera::runtime {

ThreadPool::ThreadPool(int size, void (*onStart)()) : slots_(new Slot[std::max(size - 1, 0)]) {
  for (int part = 1; part < size; ++part)
    workers_.emplace_back([this, part, onStart, rank = currentRank()] {
      currentRank() = rank;
      work(part, onStart);
    });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  for (size_t i = 0; i < workers_.size(); ++i)
    slots_[i].start.add(1);
  for (std::thread &worker : workers_)
    worker.join();
}

void ThreadPool::work(int part, void (*onStart)()) {
  if (onStart)
    onStart();
  Slot &slot = slots_[part - 1];
  for (uint32_t seen = 0;;) {
    slot.start.waitWhile(seen);
    if (stop_.load())
      return;
    seen = slot.start.load();
    // Turns may have passed without us. A claim holds the caller in its turn, so task and context stand still
    // after it.
    if (!claim(slot, seen))
      continue;
    task_(context_, part);
    // The caller needs to be woken by the last part only.
    if (pending_.add(uint32_t(-1), /*wake=*/false) == 0)
      pending_.wakeSleepers();
  }
}

void ThreadPool::run(Task task, void *context, int parts) {
  if (parts <= 1) {
    task(context, 0);
    return;
  }
  task_ = task;
  context_ = context;
  pending_.store(uint32_t(parts - 1));
  for (int part = 1; part < parts; ++part)
    slots_[part - 1].start.add(1);
  task(context, 0);
  for (int part = 1; part < parts; ++part) {
    Slot &slot = slots_[part - 1];
    if (!claim(slot, slot.start.load()))
      continue;
    task(context, part);
    pending_.add(uint32_t(-1), /*wake=*/false);
  }
  for (uint32_t left; (left = pending_.load()) != 0;)
    pending_.waitWhile(left);
}

} // namespace tessera::runtime
