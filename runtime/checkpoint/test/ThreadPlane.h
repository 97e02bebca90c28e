// The host plane of ranks that are threads of a test.
#ifndef TESSERA_RUNTIME_CHECKPOINT_TEST_THREADPLANE_H
#define TESSERA_RUNTIME_CHECKPOINT_TEST_THREADPLANE_H

#include "tessera/runtime/comm/HostPlane.h"

#include <condition_variable>
#include <cstring>
#include <mutex>

namespace tessera::checkpoint::test {

// What ranks as threads exchange.
struct Meeting {
  explicit Meeting(int64_t ranks) : ranks(ranks) {}
  void meet() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t turn = turns;
    if (++here == ranks) {
      here = 0;
      ++turns;
      all.notify_all();
    }
    all.wait(lock, [&] { return turns != turn; });
  }
  const int64_t ranks;
  std::mutex mutex;
  std::condition_variable all;
  int64_t here = 0, turns = 0;
  void *shared = nullptr;
};

class ThreadPlane final : public runtime::HostPlane {
public:
  ThreadPlane(Meeting &meeting, int64_t rank) : meeting_(meeting) {
    rank_ = rank;
    ranks_ = meeting.ranks;
  }
  void barrier() override { meeting_.meet(); }
  void broadcast(void *data, size_t bytes, int64_t root) override {
    share(data, root);
    if (rank_ != root)
      std::memcpy(data, meeting_.shared, bytes);
    meeting_.meet();
  }
  void gather(const void *src, size_t bytes, void *dst, int64_t root) override {
    share(dst, root);
    if (bytes > 0)
      std::memcpy(static_cast<char *>(meeting_.shared) + size_t(rank_) * bytes, src, bytes);
    meeting_.meet();
  }

private:
  void share(void *data, int64_t root) {
    meeting_.meet();
    if (rank_ == root)
      meeting_.shared = data;
    meeting_.meet();
  }
  Meeting &meeting_;
};

} // namespace tessera::checkpoint::test
#endif
