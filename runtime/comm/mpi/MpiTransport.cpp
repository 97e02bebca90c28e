#include "MpiTransport.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Wait.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <sched.h>
#include <time.h>

namespace tessera::runtime {

static constexpr size_t largestMessage = size_t(1) << 30; // counts are int

void MpiRequests::send(int64_t rank, int tag, const void *data, size_t bytes) {
  std::lock_guard<std::mutex> lock(mpi_.mutex);
  for (size_t at = 0; at < bytes; at += largestMessage) {
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Isend(static_cast<const char *>(data) + at, int(std::min(largestMessage, bytes - at)),
                           mpi_.byte, int(rank), tag, mpi_.world, &requests_.back()),
                "MPI_Isend");
  }
}

void MpiRequests::receive(int64_t rank, int tag, void *data, size_t bytes) {
  std::lock_guard<std::mutex> lock(mpi_.mutex);
  for (size_t at = 0; at < bytes; at += largestMessage) {
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Irecv(static_cast<char *>(data) + at, int(std::min(largestMessage, bytes - at)),
                           mpi_.byte, int(rank), tag, mpi_.world, &requests_.back()),
                "MPI_Irecv");
  }
}

namespace {
// Rows as MPI knows them. What has begun with a type goes on without it.
class RowsType {
public:
  RowsType(const MpiLibrary &mpi, int64_t rows, size_t pitch, size_t bytes) : mpi_(mpi) {
    mpi.expect(mpi.Type_create_hvector(int(rows), int(bytes), std::ptrdiff_t(pitch), mpi.byte, &type),
               "MPI_Type_create_hvector");
    mpi.expect(mpi.Type_commit(&type), "MPI_Type_commit");
  }
  ~RowsType() { mpi_.Type_free(&type); }

  MpiType type = nullptr;

private:
  const MpiLibrary &mpi_;
};

// Calls `each` with the first row and the number of rows of each message.
template <typename Each> void forMessages(int64_t rows, size_t bytes, Each each) {
  int64_t most = std::max<int64_t>(1, int64_t(largestMessage / std::max<size_t>(1, bytes)));
  for (int64_t row = 0; row < rows; row += most)
    each(row, std::min(most, rows - row));
}
} // namespace

void MpiRequests::sendRows(int64_t rank, int tag, const char *data, int64_t rows, size_t pitch,
                           size_t bytes) {
  forMessages(rows, bytes, [&](int64_t first, int64_t count) {
    const char *from = data + size_t(first) * pitch;
    if (count == 1 || pitch == bytes || bytes == 0)
      return send(rank, tag, from, size_t(count) * bytes);
    std::lock_guard<std::mutex> lock(mpi_.mutex);
    RowsType of(mpi_, count, pitch, bytes);
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Isend(from, 1, of.type, int(rank), tag, mpi_.world, &requests_.back()), "MPI_Isend");
  });
}

void MpiRequests::receiveRows(int64_t rank, int tag, char *data, int64_t rows, size_t pitch, size_t bytes) {
  forMessages(rows, bytes, [&](int64_t first, int64_t count) {
    char *into = data + size_t(first) * pitch;
    if (count == 1 || pitch == bytes || bytes == 0)
      return receive(rank, tag, into, size_t(count) * bytes);
    std::lock_guard<std::mutex> lock(mpi_.mutex);
    RowsType of(mpi_, count, pitch, bytes);
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Irecv(into, 1, of.type, int(rank), tag, mpi_.world, &requests_.back()), "MPI_Irecv");
  });
}

bool MpiRequests::done() {
  if (requests_.empty())
    return true;
  int done = 0;
  std::lock_guard<std::mutex> lock(mpi_.mutex);
  mpi_.expect(mpi_.Testall(int(requests_.size()), requests_.data(), &done, nullptr), "MPI_Testall");
  if (done)
    requests_.clear();
  return done;
}

void MpiRequests::wait() {
  for (int64_t turn = 0; !done(); ++turn)
    mpiPause(turn);
}

void mpiPause(int64_t turn) {
  if (maySpin() && turn < 20000) {
    cpuRelax();
  } else if (turn < 25000) {
    sched_yield();
  } else {
    timespec pause = {0, 100000};
    nanosleep(&pause, nullptr);
  }
}

namespace {

class MpiBatch final : public MessageBatch {
public:
  explicit MpiBatch(const MpiLibrary &mpi) : sends_(mpi), receipts_(mpi) {}

  void send(int64_t peer, uint32_t tag, const void *data, size_t bytes) override {
    sends_.send(peer, int(tag), data, bytes);
  }
  void receive(int64_t peer, uint32_t tag, void *into, size_t bytes) override {
    receipts_.receive(peer, int(tag), into, bytes);
  }
  size_t receiveView(int64_t peer, uint32_t tag, size_t bytes) override {
    receiveRowViews(peer, tag, 1, bytes);
    return viewed_.size() - 1;
  }
  void sendRows(int64_t peer, uint32_t tag, const char *data, int64_t rows, size_t pitch,
                size_t bytes) override {
    sends_.sendRows(peer, int(tag), data, rows, pitch, bytes);
  }
  void receiveRows(int64_t peer, uint32_t tag, char *into, int64_t rows, size_t pitch,
                   size_t bytes) override {
    receipts_.receiveRows(peer, int(tag), into, rows, pitch, bytes);
  }
  void receiveRowViews(int64_t peer, uint32_t tag, int64_t rows, size_t bytes) override {
    if (used_ == views_.size())
      views_.emplace_back();
    std::vector<char> &view = views_[used_++];
    if (view.size() < size_t(rows) * bytes)
      view.resize(size_t(rows) * bytes);
    receipts_.receiveRows(peer, int(tag), view.data(), rows, bytes, bytes);
    for (int64_t row = 0; row < rows; ++row)
      viewed_.push_back(view.data() + size_t(row) * bytes);
  }
  const void *view(size_t number) override { return viewed_[number]; }
  bool arrived() override { return receipts_.done(); }
  void releaseViews() override {
    used_ = 0;
    viewed_.clear();
  }
  bool delivered() override { return sends_.done(); }
  void clear() override { releaseViews(); }

private:
  MpiRequests sends_, receipts_;
  std::deque<std::vector<char>> views_; // grow to what the largest collective needs
  size_t used_ = 0;
  std::vector<const void *> viewed_; // rows of them, by number
};

class MpiTransport final : public Transport {
public:
  explicit MpiTransport(const MpiLibrary &mpi) : mpi_(mpi) {}
  std::unique_ptr<MessageBatch> makeBatch() override { return std::make_unique<MpiBatch>(mpi_); }
  size_t copiedBytes() const override { return 0; } // MPI copies short messages itself
  uint32_t news() override { return 0; }            // only asking shows what is new
  void idle(uint32_t, int64_t turn) override { mpiPause(turn); }

private:
  const MpiLibrary &mpi_;
};

} // namespace

std::unique_ptr<Transport> createMpiTransport(const MpiLibrary &mpi) {
  return std::make_unique<MpiTransport>(mpi);
}

void MpiPlane::barrier() {
  WaitingScope waiting(*entry_, BarrierCollective);
  // Dissemination: after round k everyone has heard of 2^k others.
  for (int64_t distance = 1; distance < ranks_; distance *= 2) {
    char out = 0, in = 0;
    MpiRequests requests(mpi_);
    requests.receive((rank_ + ranks_ - distance) % ranks_, mpiPlaneTag, &in, 1);
    requests.send((rank_ + distance) % ranks_, mpiPlaneTag, &out, 1);
    requests.wait();
  }
}

void MpiPlane::broadcast(void *data, size_t bytes, int64_t root) {
  WaitingScope waiting(*entry_, BroadcastCollective);
  MpiRequests requests(mpi_);
  if (rank_ != root)
    requests.receive(root, mpiPlaneTag, data, bytes);
  for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
    if (r != root)
      requests.send(r, mpiPlaneTag, data, bytes);
  requests.wait();
}

void MpiPlane::gather(const void *src, size_t bytes, void *dst, int64_t root) {
  WaitingScope waiting(*entry_, GatherCollective);
  MpiRequests requests(mpi_);
  if (rank_ != root)
    requests.send(root, mpiPlaneTag, src, bytes);
  for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
    if (r == root)
      memcpy(static_cast<char *>(dst) + r * bytes, src, bytes);
    else
      requests.receive(r, mpiPlaneTag, static_cast<char *>(dst) + r * bytes, bytes);
  requests.wait();
}

} // namespace tessera::runtime
