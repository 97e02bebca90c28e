// What lies behind a stream of the driver `cuda`: for communicators that give work to it themselves.
//
//   if (auto *native = dynamic_cast<cuda::NativeStream *>(&stream)) ...
#ifndef TESSERA_RUNTIME_CUDA_API_NATIVESTREAM_H
#define TESSERA_RUNTIME_CUDA_API_NATIVESTREAM_H

#include "Cuda.h"

#include <string>

namespace tessera::cuda {

// Pointers to the functions of libcuda, under their base names.
struct Functions {
#define TESSERA_CUDA_MEMBER(base, suffix, version, parameters) CUresult(*base) parameters = nullptr;
  TESSERA_CUDA_FIRST_FUNCTION(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_FUNCTIONS(TESSERA_CUDA_MEMBER)
#undef TESSERA_CUDA_MEMBER
};

class NativeStream {
public:
  virtual ~NativeStream() = default;
  virtual const Functions &functions() const = 0;
  // To be asked for each time that work is given to it, which then comes after all that came before.
  virtual CUstream handle() = 0;
  virtual CUdevice deviceNumber() const = 0;
  // Memory of the device, not cleared, on its list of what is held. Throws the device's error naming `what`
  // and what is free where there is not that much.
  virtual CUdeviceptr allocate(size_t bytes, const std::string &what) = 0;
  virtual void free(CUdeviceptr memory) = 0;
};

} // namespace tessera::cuda
#endif
