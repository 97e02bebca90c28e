// What a stream of a rank's GPU is at, for the watch: the host is far ahead of it. The number of each
// collective, or message that is waited for, is written to pinned memory of the host when the stream comes to
// it and zero when it is past it; the watch reads it at every tick.
#ifndef TESSERA_RUNTIME_COMM_NCCL_COLLECTIVEMARKS_H
#define TESSERA_RUNTIME_COMM_NCCL_COLLECTIVEMARKS_H

#include "../../cuda/api/NativeStream.h"
#include "tessera/runtime/core/Board.h"

#include <cstdint>

namespace tessera::runtime {

class CollectiveMarks {
public:
  // In the context that is current. `entry`: of the rank, on the board.
  CollectiveMarks(const cuda::Functions &cuda, BoardEntry &entry, int64_t rank);
  ~CollectiveMarks();
  CollectiveMarks(const CollectiveMarks &) = delete;

  // What is given to `stream` next is collective `where`, one of those that BoardEntry::where names; and
  // ends. The writes go by a stream of their own, so that the collective does not wait for them; they have to
  // be in one order, so what is recorded and what is not must be joined in between.
  void begin(cuda::CUstream stream, int32_t where);
  void end(cuda::CUstream stream);
  // `stream` runs on after all writes: a recording must end in the stream that it began in.
  void join(cuda::CUstream stream);

  // What the stream is at, as BoardEntry::device has it; tells the board if it got on. Any thread.
  int32_t look();

private:
  // A word that the stream writes: BoardEntry::device below, above it what makes two that follow each other
  // differ.
  static uint32_t markOf(uint32_t turn, int32_t where) {
    return turn << 16 | uint32_t(uint16_t(where + BoardEntry::kDeviceOffset));
  }
  void follow(cuda::CUstream stream, cuda::CUevent event, uint32_t value);
  void expect(cuda::CUresult result) const;

  const cuda::Functions &cuda_;
  BoardEntry &entry_;
  int64_t rank_;
  cuda::CUstream stream_ = nullptr;
  cuda::CUevent event_ = nullptr;
  volatile uint32_t *word_ = nullptr; // pinned
  cuda::CUdeviceptr address_ = 0;     // of the same, for the device
  uint32_t turn_ = 0, seen_ = 0;
  bool behind_ = false; // something was written since the last join()
};

} // namespace tessera::runtime
#endif
