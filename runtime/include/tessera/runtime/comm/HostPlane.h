// Data of the host, between all ranks: it needs no device, no stream and no manifest. Every rank makes the
// same calls in the same order; each call waits for what it needs of the others. Of the rank's main thread.
#ifndef TESSERA_RUNTIME_COMM_HOSTPLANE_H
#define TESSERA_RUNTIME_COMM_HOSTPLANE_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime {

class HostPlane {
public:
  virtual ~HostPlane() = default;
  int64_t rank() const { return rank_; }
  int64_t ranks() const { return ranks_; }

  virtual void barrier() = 0;
  virtual void broadcast(void *data, size_t bytes, int64_t root) = 0;
  // dst (root only): the ranks' blocks of `bytes` one after another.
  virtual void gather(const void *src, size_t bytes, void *dst, int64_t root) = 0;

protected:
  int64_t rank_ = 0, ranks_ = 1;
};

} // namespace tessera::runtime
#endif
