// The kernels of a program on a GPU: one of its images, loaded, and its functions.
#ifndef TESSERA_RUNTIME_CUDA_CUDAMODULE_H
#define TESSERA_RUNTIME_CUDA_CUDAMODULE_H

#include "CudaDevice.h"
#include "SharedChoices.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// What an image says it is for: "sm_90a", "compute_80".
struct CudaArchitecture {
  bool ptx = false;
  int major = 0, minor = 0;
  char variant = 0; // 'a': this capability alone; 'f': later ones of the same major number; 0: those too

  static std::optional<CudaArchitecture> parse(std::string_view text);
  // Whether a GPU of capability `major`.`minor` runs it: a cubin on the same major number and at least the
  // minor one; PTX on anything later; variants as they say.
  bool runsOn(int major, int minor) const;
};

// The numbers of the images that a GPU of that capability runs, the one to try first at the front: cubins
// before PTX, later architectures before earlier ones. Throws Error for an architecture that cannot be read.
std::vector<size_t> fittingImages(const ts_program &program, int major, int minor);

// The CUDA version, as the driver counts, that reads the PTX in `text` by its ".version"; 0: it has none.
int cudaVersionOfPtx(std::string_view text);

// What an image takes on a device: of a cubin, its sections that are loaded, variables without contents too;
// of PTX, as much as its text.
int64_t loadedBytes(const ts_image &image);

class CudaModule final : public Module {
public:
  // Loads the image and looks up all functions. Throws Error if no image runs on this GPU, if the driver is
  // too old for it, or if a kernel is missing or needs more than the GPU has.
  CudaModule(CudaDevice &device, const ts_program &program);
  ~CudaModule() override;

  void launch(cuda::CUstream stream, const Launch &launch);
  // Which of its siblings each kernel takes: measured on one rank, the same on all that have it
  // (CudaSiblings.cpp).
  void tune(const Buffer &arena) override;
  // The same where nothing says what to take. All ranks of `plane` take part; null: this one is alone.
  void takeFastest(const Buffer &arena, HostPlane *plane);

  // A kernel that the image has beside those of the table (abi.h).
  struct RandomKernel {
    std::string name;
    cuda::CUfunction function = nullptr; // null: the image has none
  };
  // The one that makes up weights of this type; lives as long as the module.
  const RandomKernel &randomWeights(io::DType type);

private:
  explicit CudaModule(CudaDevice &device) : device_(device) {} // from here on the destructor cleans up
  struct Sibling {
    const ts_sibling *spec;
    cuda::CUfunction function; // null: this image lacks it
    const char *form() const;  // "wgmma" of "attention$wgmma"
  };
  struct Kernel {
    const char *name;
    cuda::CUfunction function;
    unsigned threads, shared;
    int64_t perBlock;
    size_t buffers, scalars;
    const ts_kernel_buffer *bufferSpecs;
    const Sibling *taken = nullptr; // in its place
  };
  class SiblingTrials;
  void loadImage(const ts_program &program);
  // Whether the driver took it; `why` says why not.
  bool tryLoad(const ts_image &image, std::string &why);
  Kernel find(const ts_kernel &kernel);
  void findSiblings(const ts_program &program);
  // Holds a function to what the GPU has, and gives it its shared memory.
  void prepare(const char *name, cuda::CUfunction function, int64_t threads, int64_t shared);
  Error refusal(const char *name, const std::string &why) const;
  void give(cuda::CUstream stream, const Kernel &kernel, const Sibling *sibling, const Launch &launch);
  void takeForm(const std::string &form);
  Choices chooseSiblings(const std::set<std::string> &own, const Buffer &arena);
  std::map<size_t, std::vector<const Sibling *>> loadedSiblings() const;

  CudaDevice &device_;
  cuda::CUmodule module_ = nullptr;
  std::vector<Kernel> kernels_;
  std::vector<Sibling> siblings_;
  std::map<io::DType, RandomKernel> randomKernels_;
  std::vector<void *> parameters_; // of the launch that is being given
};

} // namespace tessera::runtime
#endif
