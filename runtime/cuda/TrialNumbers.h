// What operands hold while ways of doing one thing are measured.
#ifndef TESSERA_RUNTIME_CUDA_TRIALNUMBERS_H
#define TESSERA_RUNTIME_CUDA_TRIALNUMBERS_H

#include "CudaDevice.h"

namespace tessera::runtime {

// Memory of the GPU that holds pseudo-random numbers while this lives, and zeros afterwards, as before. A GPU
// multiplies zeros with less power, so at a higher clock than what a model has.
//
// The same bits are numbers of any of the types that are computed in: bf16 and float32 from 1/8 to 2, f16
// from 1.5 to 2, of both signs. They come from a counter: every start measures on the same.
class TrialNumbers {
public:
  explicit TrialNumbers(CudaDevice &device) : device_(device) {}
  ~TrialNumbers();
  TrialNumbers(const TrialNumbers &) = delete;

  // In stream order, on the device's service stream; again where something was written since.
  void fill(void *to, size_t bytes);
  // The same for memory that is to be zeros.
  void clear(void *to, size_t bytes);

  // The 16 bits of number `i`.
  static uint16_t number(uint64_t i);

private:
  CudaDevice &device_;
  std::map<char *, size_t> used_; // what has to be zeros again
};

} // namespace tessera::runtime
#endif
