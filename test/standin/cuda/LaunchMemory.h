// What the kernel of one launch may touch, and what it touched.
#ifndef TESSERA_STANDIN_CUDA_LAUNCHMEMORY_H
#define TESSERA_STANDIN_CUDA_LAUNCHMEMORY_H

#include "../engine/Engine.h"
#include "Machine.h"

#include <mutex>

namespace standin {

class LaunchMemory final : public MemoryMap {
public:
  // Its device's memory, that of peers, and what is pinned. `records`: every access is seen.
  LaunchMemory(std::shared_ptr<const std::vector<AllocationRef>> all, int device, std::set<int> peers,
               bool records);
  ~LaunchMemory() override;

  std::optional<MemoryRange> find(uintptr_t address) const override;
  std::optional<MemoryRange> access(uintptr_t address, uint64_t bytes, bool writes) const override;
  std::string explain(uintptr_t address, size_t bytes) const override;

  // What was touched, without the lock and when the launch has ended.
  std::vector<TouchedBytes> touched() const;

private:
  struct Log; // of one thread of the host
  const Allocation *holding(uintptr_t address) const;
  bool allowed(const Allocation &memory) const;
  Log &log() const;

  std::shared_ptr<const std::vector<AllocationRef>> all_;
  int device_;
  std::set<int> peers_;
  bool records_;
  uint64_t number_; // of this launch
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Log>> logs_;
};

} // namespace standin
#endif
