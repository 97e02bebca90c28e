//===- SideBySide.cpp - Functions laid out beside each other --------------===//
#include "Reshard/SideBySide.h"
#include "Explain.h"

#include "tessera/AutoParallel/SearchWork.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include <pthread.h>

using namespace tessera;
using namespace tessera::dist;

/// Of a thread: searches recurse, and not every system gives threads as much as the first one has.
static constexpr size_t kStackBytes = 8 << 20;

/// Whose turn it is to touch the IR, on threads of sideBySide.
static thread_local std::mutex *turnHere = nullptr;

OthersTurn::OthersTurn() : turn(turnHere) {
  if (turn)
    turn->unlock();
}

OthersTurn::~OthersTurn() {
  if (turn)
    turn->lock();
}

void tessera::dist::sideBySide(size_t count, llvm::function_ref<void(size_t)> work) {
  const size_t threads = std::min<size_t>(count, llvm::hardware_concurrency().compute_thread_count());
  std::vector<HeldRemarks> remarks(count);
  std::vector<SearchWork> searched(count);
  std::mutex turn;
  std::atomic<size_t> next = 0;
  std::function<void()> run = [&] {
    const std::lock_guard<std::mutex> mine(turn);
    std::mutex *around = std::exchange(turnHere, &turn);
    for (size_t i; (i = next++) < count;) {
      const SearchWork before = searchWork();
      remarks[i].hold([&] { work(i); });
      searched[i] = searchWork().since(before);
      searchWork() = before;
    }
    turnHere = around;
  };
  auto call = [](void *run) -> void * {
    (*static_cast<std::function<void()> *>(run))();
    return nullptr;
  };
  // Where the system gives no more threads, those that there are do the work; std::thread would throw.
  std::vector<pthread_t> others;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (size_t i = 1; i < threads; ++i)
    if (pthread_t other; pthread_create(&other, &attributes, call, &run) == 0)
      others.push_back(other);
  pthread_attr_destroy(&attributes);
  run();
  for (pthread_t other : others)
    pthread_join(other, nullptr);
  for (size_t i = 0; i < count; ++i) {
    remarks[i].emit();
    searchWork() += searched[i];
  }
}
