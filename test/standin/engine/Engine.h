// The kernel engine of the GPU stand-in: runs CUDA kernels on the host, from the LLVM IR that went to the
// NVPTX backend.
//
// A CUDA thread is a fiber, a block runs on one host thread, blocks of a launch run side by side on a few.
// Device addresses are host addresses: an allocation of the stand-in's `cuMemAlloc` is a mapping of its own,
// and every access of a kernel is held to the map of those that are live (MemoryMap). docs/StandIn.md says
// what is found and what is not.
#ifndef TESSERA_STANDIN_ENGINE_H
#define TESSERA_STANDIN_ENGINE_H

#include "tessera/runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace standin {

// What a launch did wrong, in one line that names the kernel, the block, the thread and the instruction
// (`file.c:12` where the bitcode has debug locations, else the instruction's text). A kind each for what a
// driver tells apart.
struct Finding {
  enum class Kind {
    IllegalAddress, // outside what is live, null, shared memory beyond its size, a write to what is read-only
    Misaligned,     // an address that is no multiple of what the instruction promised
    Race, // two accesses, one of them a write, that nothing orders; a read of what was never written
    Synchronization, // a barrier or a warp operation that not all of its threads reach; a spin that never
                     // ends
    Trap,            // the kernel's own trap or assertion
    Launch, // refused before the first thread ran: more threads or shared memory than there are, what the
            // engine lacks
  };
  Kind kind;
  std::string text;
};

struct MemoryRange {
  uintptr_t begin = 0, end = 0;
  bool writable = true;
};

// Which memory kernels may touch. Asked from several host threads at once, but seldom: an instruction
// remembers its last range during a launch, so a range that `find` gave must stay live until the launch has
// ended.
class MemoryMap {
public:
  virtual ~MemoryMap() = default;
  // The live range that `address` lies in: a device allocation, pinned or managed host memory. None: it may
  // not be touched.
  virtual std::optional<MemoryRange> find(uintptr_t address) const = 0;
  // The same, asked for an access of `bytes` that is about to be made. Who wants to see every access gives a
  // range of these bytes alone.
  virtual std::optional<MemoryRange> access(uintptr_t address, uint64_t bytes, bool writes) const {
    return find(address);
  }
  // Why an access that is refused is wrong ("4 bytes behind an allocation of 4096 bytes", "freed"); becomes
  // part of the finding.
  virtual std::string explain(uintptr_t address, size_t bytes) const { return "no live allocation there"; }
};

// One parameter of a kernel, in the buffer that `LaunchRequest::parameters` points to.
struct KernelParameter {
  uint32_t offset, bytes;
};

class Program; // compiled code, shared by all images of the same bitcode

struct Kernel {
  std::string name;
  std::vector<KernelParameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticShared = 0;        // bytes
  uint32_t maxThreads = 1024;       // a block's, from nvvm.maxntid or nvvm.reqntid
  uint32_t requiredThreads[3] = {}; // nvvm.reqntid; 0: any
  std::string
      unsupported; // not empty: uses what the engine lacks, and this names it; every launch is refused
  uint32_t placedShared = 0;          // static shared bytes with the gaps between variables
  bool flushDenormals = false;        // subnormal floats are zero: -fcuda-flush-denormals-to-zero
  uint32_t index = 0;                 // in its program
  const class Image *image = nullptr; // which owns this
};

struct DeviceGlobal {
  std::string name;
  void *address;
  size_t bytes;
  bool constant;
};

// A loaded module: its kernels, and memory of its own for its global variables (two loads of one file share
// nothing but code).
class Image {
public:
  // Reads LLVM bitcode (triple nvptx64). Fails when the file is no such bitcode; a kernel that uses what the
  // engine lacks only fails when it is launched (Kernel::unsupported).
  static tessera::Result<std::shared_ptr<Image>> load(const std::string &bitcodePath);
  ~Image();

  const Kernel *kernel(const std::string &name) const; // null when there is none
  const std::vector<Kernel> &kernels() const { return kernels_; }
  const DeviceGlobal *global(const std::string &name) const; // null when there is none
  const std::vector<DeviceGlobal> &globals() const { return globals_; }
  Program &program() const { return *program_; }
  char *data() const { return data_.get(); } // of all globals
  size_t dataBytes() const { return dataBytes_; }

private:
  Image();
  std::shared_ptr<Program> program_;
  std::vector<Kernel> kernels_;
  std::vector<DeviceGlobal> globals_;
  std::unique_ptr<char, void (*)(void *)> data_;
  size_t dataBytes_ = 0;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct LaunchRequest {
  const Kernel *kernel = nullptr;
  Dim3 grid, block;
  uint32_t dynamicShared = 0;        // bytes
  const void *parameters = nullptr;  // Kernel::parameterBytes of them, laid out as Kernel::parameters says
  uint64_t seed = 1;                 // the order of blocks, warps and lanes; 0: ascending
  const MemoryMap *memory = nullptr; // must outlive the call
  bool races =
      false; // look for races and unwritten shared memory too: one host thread, about ten times slower
  uint32_t sharedLimit = 227 * 1024; // bytes a block may have, static and dynamic
};

// Runs all blocks, returns when they are done. The first finding ends the launch; what other blocks wrote
// until then stays. May be called from several host threads at once. Deterministic for a seed where `races`
// is set.
std::optional<Finding> run(const LaunchRequest &request);

// The multiprocessor's limits that `run` holds launches to, for the stand-in's device attributes.
constexpr uint32_t kMaxThreads = 1024, kWarp = 32;

} // namespace standin
#endif
