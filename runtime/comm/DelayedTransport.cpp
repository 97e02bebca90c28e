#include "DelayedTransport.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <time.h>

namespace tessera::runtime {

namespace {

constexpr const char *variable = "TESSERA_COMM_DELAY";

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t(1000000000) + now.tv_nsec;
}

// What comes to this rank. Times in nanoseconds.
class Link {
public:
  Link(double latency, double bytesPerSecond) : latency_(latency), perByte_(1e9 / bytesPerSecond) {}

  // When a message that is asked for now has arrived. The communicator starts one at a time.
  int64_t arrival(size_t bytes) {
    free_ = std::max(free_, double(nanoseconds())) + double(bytes) * perByte_;
    return int64_t(free_ + latency_);
  }
  bool isHere(int64_t arrival) {
    int64_t left = arrival - nanoseconds();
    if (left > 0)
      left_.store(left, std::memory_order_relaxed);
    return left <= 0;
  }
  // How much was left when somebody last looked for something that had not arrived; 0: nobody did since.
  int64_t takeLeft() { return left_.exchange(0, std::memory_order_relaxed); }

private:
  double latency_, perByte_, free_ = 0;
  std::atomic<int64_t> left_{0};
};

class DelayedBatch final : public MessageBatch {
public:
  DelayedBatch(std::unique_ptr<MessageBatch> batch, Link &link) : batch_(std::move(batch)), link_(link) {}

  void send(int64_t peer, uint32_t tag, const void *data, size_t bytes) override {
    batch_->send(peer, tag, data, bytes);
  }
  void receive(int64_t peer, uint32_t tag, void *into, size_t bytes) override {
    expect(bytes);
    batch_->receive(peer, tag, into, bytes);
  }
  size_t receiveView(int64_t peer, uint32_t tag, size_t bytes) override {
    expect(bytes);
    return batch_->receiveView(peer, tag, bytes);
  }
  const void *view(size_t number) override { return batch_->view(number); }
  void sendRows(int64_t peer, uint32_t tag, const char *data, int64_t rows, size_t pitch,
                size_t bytes) override {
    batch_->sendRows(peer, tag, data, rows, pitch, bytes);
  }
  void receiveRows(int64_t peer, uint32_t tag, char *into, int64_t rows, size_t pitch,
                   size_t bytes) override {
    expect(size_t(rows) * bytes);
    batch_->receiveRows(peer, tag, into, rows, pitch, bytes);
  }
  void receiveRowViews(int64_t peer, uint32_t tag, int64_t rows, size_t bytes) override {
    expect(size_t(rows) * bytes);
    batch_->receiveRowViews(peer, tag, rows, bytes);
  }
  bool arrived() override { return batch_->arrived() && link_.isHere(due_); }
  void releaseViews() override { batch_->releaseViews(); }
  bool delivered() override { return batch_->delivered(); }
  void clear() override {
    batch_->clear();
    due_ = 0;
  }

private:
  void expect(size_t bytes) {
    if (bytes > 0)
      due_ = std::max(due_, link_.arrival(bytes));
  }

  std::unique_ptr<MessageBatch> batch_;
  Link &link_;
  int64_t due_ = 0;
};

class DelayedTransport final : public Transport {
public:
  DelayedTransport(std::unique_ptr<Transport> transport, double latency, double bytesPerSecond)
      : transport_(std::move(transport)), link_(latency, bytesPerSecond) {}

  std::unique_ptr<MessageBatch> makeBatch() override {
    return std::make_unique<DelayedBatch>(transport_->makeBatch(), link_);
  }
  size_t copiedBytes() const override { return transport_->copiedBytes(); }
  uint32_t news() override { return transport_->news(); }
  // No news is heard of what arrives by its time, which may have come since somebody looked.
  void idle(uint32_t seen, int64_t turn) override {
    int64_t left = link_.takeLeft();
    if (left == 0)
      return transport_->idle(seen, turn);
    constexpr int64_t longest = 100000; // another message may be earlier, or a peer wait for an answer
    timespec pause = {0, long(std::min(left, longest))};
    nanosleep(&pause, nullptr);
  }

private:
  std::unique_ptr<Transport> transport_;
  Link link_;
};

} // namespace

std::unique_ptr<Transport> delayedTransport(std::unique_ptr<Transport> transport) {
  const char *value = getenv(variable);
  if (!value || !*value)
    return transport;
  char *end = nullptr;
  double latency = strtod(value, &end), bandwidth = 0;
  bool isGood = end != value && *end == ',';
  if (isGood) {
    const char *second = end + 1;
    bandwidth = strtod(second, &end);
    isGood = end != second && *end == 0;
  }
  if (!isGood || !std::isfinite(latency) || latency < 0 || !std::isfinite(bandwidth) || bandwidth <= 0)
    throw Error("cannot read a setting", variable + ("=" + std::string(value)),
                "it is not a latency in microseconds and a number of bytes a second",
                std::string("write ") + variable + "=50,1e9, or unset it");
  return std::make_unique<DelayedTransport>(std::move(transport), latency * 1000, bandwidth);
}

} // namespace tessera::runtime
