// Entries as CUDA graphs: what the calls of an entry give to the streams is recorded once and then launched
// as a whole.
//
// The work of a call depends on the entry, on the bases of its arena and its slots and on its counts. The
// first call of such a kind gives its work to the streams as it is, which also makes ready what may not be
// made ready during a recording; the second is recorded and launched; all later ones are one launch. An entry
// whose work cannot be recorded (the host has a part in it) goes on as at first, with a remark if
// TESSERA_VERBOSE=1.
#ifndef TESSERA_RUNTIME_CUDA_CUDAGRAPHS_H
#define TESSERA_RUNTIME_CUDA_CUDAGRAPHS_H

#include "CudaLibrary.h"
#include "tessera/runtime/device/Device.h"

#include <string>
#include <vector>

namespace tessera::runtime {

class CudaDevice;
class CudaStream;

// What was recorded on this device.
// A graph runs on the compute stream alone, whatever streams its work was given to. It comes after all that
// any stream was given before it, and before all that any is given after it.
class CudaGraphs {
public:
  explicit CudaGraphs(CudaDevice &device);
  ~CudaGraphs();

  void call(const Call &call, CudaStream &compute);
  // Graphs that run on `stream` go.
  void streamGoes(cuda::CUstream stream);

  // The kinds of calls that are kept: of more, those that were called longest ago go.
  static constexpr size_t kMost = 64;

private:
  struct Recording {
    std::vector<int64_t> entries;
    const void *base = nullptr;
    std::array<char *, kSlots> slots{};
    std::vector<int64_t> counts;
    cuda::CUstream stream = nullptr;
    enum { Seen, Recorded, Refused } state = Seen;
    cuda::CUgraphExec graph = nullptr;
    uint64_t lastUse = 0;
    std::string name;
  };
  Recording *find(const Call &call, cuda::CUstream stream);
  Recording &add(const Call &call, cuda::CUstream stream);
  void drop(Recording &recording);
  void launch(Recording &recording, CudaStream &compute);
  // Empty: `recording` has a graph now. Else why it cannot be had.
  std::string record(const Call &call, CudaStream &compute, Recording &recording);
  void refuse(Recording &recording, const std::string &why);

  CudaDevice &device_;
  cuda::CUevent join_ = nullptr; // of other streams and the compute stream
  std::vector<Recording> recordings_;
  uint64_t uses_ = 0;
};

} // namespace tessera::runtime
#endif
