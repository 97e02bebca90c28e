#include "TestStreams.h"
#include "../cuda/Work.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace standin::nccl {

namespace {

class Streams {
public:
  Streams() : thread_([this] { loop(); }) { thread_.detach(); }

  void give(CUstream_st *stream, const StandinWork &work) {
    std::lock_guard<std::mutex> lock(mutex_);
    queues_[stream].push_back({work, nullptr, false});
  }
  void synchronize(CUstream_st *stream) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return queues_[stream].empty(); });
  }

private:
  struct Entry {
    StandinWork work;
    void *run;
    bool begun;
  };

  void loop() {
    std::mt19937 random(7);
    for (;;) {
      std::vector<CUstream_st *> open;
      std::unique_lock<std::mutex> lock(mutex_);
      for (auto &[stream, queue] : queues_)
        if (!queue.empty())
          open.push_back(stream);
      if (open.empty()) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        continue;
      }
      CUstream_st *stream = open[random() % open.size()];
      Entry entry = queues_[stream].front();
      lock.unlock();
      if (!entry.begun)
        entry.run = entry.work.begin(entry.work.context);
      bool done = entry.work.advance(entry.run) != 0;
      if (done)
        entry.work.release(entry.work.context);
      else // the others need the core
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      lock.lock();
      queues_[stream].front().run = entry.run;
      queues_[stream].front().begun = true;
      if (done)
        queues_[stream].pop_front();
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable done_;
  std::map<CUstream_st *, std::deque<Entry>> queues_;
  std::thread thread_;
};

// Of a process: a child of fork() makes its own.
Streams &streams() {
  static auto *all = new Streams();
  return *all;
}

} // namespace

void synchronize(tessera::cuda::CUstream stream) {
  streams().synchronize(reinterpret_cast<CUstream_st *>(stream));
}

} // namespace standin::nccl

extern "C" int standinEnqueue(CUstream_st *stream, const StandinWork *work) {
  standin::nccl::streams().give(stream, *work);
  return 0;
}
