// Memory that devices may touch: their own, and memory of the host that is pinned.
#ifndef TESSERA_STANDIN_CUDA_MEMORY_H
#define TESSERA_STANDIN_CUDA_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace standin {

struct Allocation {
  enum class Kind { Device, Pinned, Registered, Global };
  uint64_t id; // never used again
  uintptr_t begin, end;
  Kind kind;
  int device;    // of the context that made it
  size_t mapped; // bytes of the mapping, 0 where it is the program's

  size_t bytes() const { return end - begin; }
  bool onDevice() const { return kind == Kind::Device || kind == Kind::Global; }
  std::string name() const; // "allocation 3 of device 0 (4096 bytes)"
};
using AllocationRef = std::shared_ptr<const Allocation>;

// Addresses are those of the host. Device memory has a part of the address space of its own, and none of it
// is used twice: what was freed is known to be, and touching it ends the process. Guarded by the machine's
// lock.
class MemoryTable {
public:
  // Memory that holds 0xFF everywhere. Null where the system has no more.
  AllocationRef allocate(Allocation::Kind kind, int device, size_t bytes);
  // Memory that is there already. Null where a part of it is in the table.
  AllocationRef add(Allocation::Kind kind, int device, uintptr_t begin, size_t bytes);
  void release(const AllocationRef &allocation);

  // The live allocation that an address lies in; null without one.
  AllocationRef find(uintptr_t address) const;
  // That holds `bytes` from `address` on; null, and `why` says what is wrong.
  AllocationRef find(uintptr_t address, size_t bytes, std::string &why) const;
  // What an address that is in no live allocation is: "freed (allocation 3 of device 0 ...)".
  std::string describe(uintptr_t address) const;
  // "byte 16 of allocation 3 of device 0"
  std::string place(uintptr_t address) const;
  // Whether an address lies where device memory has been or will be.
  bool isDeviceAddress(uintptr_t address) const;

  size_t used(int device) const;
  std::vector<AllocationRef> ofDevice(int device) const; // of every kind
  // The same list until something is added or released: what kernels look up in without the lock.
  std::shared_ptr<const std::vector<AllocationRef>> snapshot();

private:
  bool reserve(int device);

  std::map<uintptr_t, AllocationRef> live_;  // by begin
  std::map<uintptr_t, AllocationRef> freed_; // device memory and pinned memory, by begin
  std::map<int, std::pair<uintptr_t, uintptr_t>> regions_;
  std::map<int, uintptr_t> next_;
  std::shared_ptr<const std::vector<AllocationRef>> snapshot_;
  uint64_t count_ = 0;
};

} // namespace standin
#endif
