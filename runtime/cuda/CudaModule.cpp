#include "CudaModule.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <limits>
#include <tuple>

namespace tessera::runtime {

using namespace cuda;

// --- Which image ---

std::optional<CudaArchitecture> CudaArchitecture::parse(std::string_view text) {
  CudaArchitecture result;
  if (text.substr(0, 8) == "compute_") {
    result.ptx = true;
    text.remove_prefix(8);
  } else if (text.substr(0, 3) == "sm_") {
    text.remove_prefix(3);
  } else {
    return std::nullopt;
  }
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
    result.variant = text.back();
    text.remove_suffix(1);
  }
  if (text.size() < 2 || text.size() > 3)
    return std::nullopt;
  int number = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return std::nullopt;
    number = number * 10 + (c - '0');
  }
  result.major = number / 10;
  result.minor = number % 10;
  return result;
}

bool CudaArchitecture::runsOn(int deviceMajor, int deviceMinor) const {
  if (variant == 'a')
    return deviceMajor == major && deviceMinor == minor;
  if (deviceMajor == major)
    return deviceMinor >= minor;
  return ptx && !variant && deviceMajor > major;
}

std::vector<size_t> fittingImages(const ts_program &program, int major, int minor) {
  std::vector<std::pair<CudaArchitecture, size_t>> fitting;
  for (size_t i = 0; i < program.num_images; ++i) {
    auto architecture = CudaArchitecture::parse(program.images[i].architecture);
    if (!architecture)
      throw Error("cannot load the program's kernels", program.images[i].architecture,
                  "that is no architecture of a GPU", "compile it again with this version of llm-compile");
    if (architecture->runsOn(major, minor))
      fitting.push_back({*architecture, i});
  }
  std::sort(fitting.begin(), fitting.end(), [](const auto &a, const auto &b) {
    auto key = [](const auto &image) {
      const CudaArchitecture &x = image.first;
      return std::make_tuple(x.ptx, -x.major, -x.minor, x.variant == 0, image.second);
    };
    return key(a) < key(b);
  });
  std::vector<size_t> numbers;
  for (const auto &entry : fitting)
    numbers.push_back(entry.second);
  return numbers;
}

int cudaVersionOfPtx(std::string_view text) {
  size_t at = text.find(".version");
  if (at == std::string_view::npos)
    return 0;
  int major = 0, minor = 0;
  if (sscanf(std::string(text.substr(at, 32)).c_str(), ".version %d.%d", &major, &minor) != 2)
    return 0;
  // PTX 7.x came with CUDA 11.x; 8.x with 12.x, which from 12.6 on is one ahead; 9.x with 13.x.
  if (major == 8 && minor >= 6)
    ++minor;
  return (major + 4) * 1000 + minor * 10;
}

int64_t loadedBytes(const ts_image &image) {
  auto *data = static_cast<const char *>(image.data);
  Elf64_Ehdr header;
  if (image.bytes < sizeof(header) || memcmp(data, ELFMAG, SELFMAG) != 0)
    return int64_t(image.bytes);
  memcpy(&header, data, sizeof(header));
  int64_t bytes = 0;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    uint64_t at = header.e_shoff + i * header.e_shentsize;
    if (at + sizeof(section) > image.bytes)
      break;
    memcpy(&section, data + at, sizeof(section));
    if (section.sh_flags & SHF_ALLOC)
      bytes += int64_t(section.sh_size);
  }
  return bytes;
}

// --- Loading ---

CudaModule::CudaModule(CudaDevice &device, const ts_program &program) : CudaModule(device) {
  if (program.num_kernels == 0)
    return;
  loadImage(program);
  size_t most = 0;
  for (uint32_t i = 0; i < program.num_kernels; ++i) {
    kernels_.push_back(find(program.kernels[i]));
    most = std::max(most, kernels_.back().buffers + kernels_.back().scalars + 1);
  }
  parameters_.resize(most);
  findSiblings(program);
}

CudaModule::~CudaModule() {
  if (module_)
    device_.cuda().cuModuleUnload(module_);
}

static std::string firstLine(const char *text) {
  std::string line(text, strcspn(text, "\n"));
  return line;
}

bool CudaModule::tryLoad(const ts_image &image, std::string &why) {
  const CudaLibrary &cuda = device_.cuda();
  bool ptx = CudaArchitecture::parse(image.architecture)->ptx;
  if (ptx) {
    int needed = cudaVersionOfPtx(static_cast<const char *>(image.data));
    if (needed > cuda.version) {
      why = "its PTX needs a driver for CUDA " + cudaVersionText(needed) + ", and this one is for CUDA " +
            cudaVersionText(cuda.version);
      return false;
    }
  }
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUresult result = cuda.cuModuleLoadDataEx(&module_, image.data, 2, options, values);
  if (result == CUDA_SUCCESS)
    return true;
  module_ = nullptr;
  why = std::string(image.architecture) + ": " + cuda.describe(result);
  if (log[0])
    why += ": " + firstLine(log);
  else if (!ptx && cuda.version < 13000)
    why += " (the driver is for CUDA " + cudaVersionText(cuda.version) + ")";
  return false;
}

void CudaModule::loadImage(const ts_program &program) {
  const CudaProperties &gpu = device_.properties();
  std::vector<size_t> fitting = fittingImages(program, gpu.major, gpu.minor);
  std::string whyNot;
  for (size_t i : fitting) {
    std::string why;
    if (tryLoad(program.images[i], why)) {
      device_.remark(std::string("kernels of ") + program.images[i].architecture);
      return;
    }
    whyNot += (whyNot.empty() ? "" : ", ") + why;
  }
  if (!fitting.empty())
    throw Error("cannot load the program's kernels", device_.describe(), whyNot,
                "install a newer driver, or compile it again with this version of llm-compile");
  std::string has;
  for (size_t i = 0; i < program.num_images; ++i)
    has += (i ? ", " : "") + std::string(program.images[i].architecture);
  throw Error("cannot run on this GPU", device_.describe(),
              "its compute capability is " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                  ", the program has kernels for " + (has.empty() ? "none" : has),
              "compile it again with this version of llm-compile");
}

Error CudaModule::refusal(const char *name, const std::string &why) const {
  return Error("cannot load kernel " + std::string(name), device_.describe(), why,
               "compile it again with this version of llm-compile");
}

CudaModule::Kernel CudaModule::find(const ts_kernel &spec) {
  if (spec.function)
    throw refusal(spec.name, "it is code of the host");
  if (spec.threads < 1 || spec.per_block < 1)
    throw refusal(spec.name, "its table says " + std::to_string(spec.threads) + " threads and " +
                                 std::to_string(spec.per_block) + " iterations a block");
  Kernel kernel{spec.name,
                nullptr,
                unsigned(spec.threads),
                unsigned(spec.shared_bytes),
                spec.per_block,
                size_t(spec.num_buffers),
                size_t(spec.num_scalars),
                spec.buffers};
  CUresult result = device_.cuda().cuModuleGetFunction(&kernel.function, module_, spec.name);
  if (result != CUDA_SUCCESS)
    throw refusal(spec.name, device_.cuda().describe(result));
  prepare(spec.name, kernel.function, spec.threads, spec.shared_bytes);
  return kernel;
}

void CudaModule::findSiblings(const ts_program &program) {
  for (uint64_t i = 0; i < program.num_siblings; ++i) {
    const ts_sibling &spec = program.siblings[i];
    if (spec.kernel < 0 || size_t(spec.kernel) >= kernels_.size() || spec.threads < 1 || spec.blocks < 1 ||
        spec.blocks > std::numeric_limits<int32_t>::max() ||
        size_t(spec.ascending) >= kernels_[size_t(spec.kernel)].buffers || !strchr(spec.name, '$'))
      throw refusal(spec.name, "its row in the table of siblings says what cannot be");
    Sibling sibling{&spec, nullptr};
    CUresult result = device_.cuda().cuModuleGetFunction(&sibling.function, module_, spec.name);
    if (result == CUDA_ERROR_NOT_FOUND)
      sibling.function = nullptr;
    else if (result != CUDA_SUCCESS)
      throw refusal(spec.name, device_.cuda().describe(result));
    else
      prepare(spec.name, sibling.function, spec.threads, spec.shared_bytes);
    siblings_.push_back(sibling);
  }
}

void CudaModule::prepare(const char *name, CUfunction function, int64_t threads, int64_t shared) {
  const CudaLibrary &cuda = device_.cuda();
  auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    device_.expect(cuda.cuFuncGetAttribute(&value, which, function), "ask what a kernel needs");
    return value;
  };
  int mostThreads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (threads > mostThreads)
    throw refusal(name, "its blocks have " + std::to_string(threads) + " threads, and its code allows " +
                            std::to_string(mostThreads));
  int fixed = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  int most = device_.properties().sharedPerBlock;
  if (fixed + shared > most)
    throw refusal(name, "it needs " + std::to_string(fixed + shared) +
                            " bytes of shared memory a block, and the GPU has " + std::to_string(most));
  // Above what every GPU has it must be asked for.
  constexpr int always = 48 << 10;
  if (fixed + shared > always)
    device_.expect(
        cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(shared)),
        "give a kernel its shared memory");
}

const CudaModule::RandomKernel &CudaModule::randomWeights(io::DType type) {
  auto [at, isNew] = randomKernels_.try_emplace(type);
  if (isNew && module_) {
    at->second.name = std::string(TESSERA_RANDOM_KERNEL) + io::traits(type).name;
    CUresult result =
        device_.cuda().cuModuleGetFunction(&at->second.function, module_, at->second.name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) // made by hand, for a test
      at->second.function = nullptr;
    else
      device_.expect(result, "look up a kernel");
  }
  return at->second;
}

// --- Launching ---

void CudaModule::launch(CUstream stream, const Launch &launch) {
  if (launch.count <= 0)
    return;
  const Kernel &kernel = kernels_[size_t(launch.kernel)];
  bool stands = kernel.taken && kernel.taken->spec->count == launch.count;
  give(stream, kernel, stands ? kernel.taken : nullptr, launch);
}

void CudaModule::give(CUstream stream, const Kernel &kernel, const Sibling *sibling, const Launch &launch) {
  int64_t blocks = sibling ? sibling->spec->blocks : (launch.count + kernel.perBlock - 1) / kernel.perBlock;
  if (blocks > std::numeric_limits<int32_t>::max())
    throw Error(std::string("cannot launch kernel ") + kernel.name, device_.describe(),
                std::to_string(blocks) + " blocks are more than a grid has",
                "compile for a larger mesh or a smaller --batch");
  // The driver reads each parameter through a pointer, and copies it before the call returns.
  size_t at = 0;
  for (size_t i = 0; i < kernel.buffers; ++i)
    parameters_[at++] = const_cast<void **>(&launch.buffers[i]);
  for (size_t i = 0; i < kernel.scalars; ++i)
    parameters_[at++] = const_cast<int64_t *>(&launch.scalars[i]);
  int64_t count = launch.count;
  parameters_[at++] = &count;
  CUfunction function = sibling ? sibling->function : kernel.function;
  unsigned threads = sibling ? unsigned(sibling->spec->threads) : kernel.threads,
           shared = sibling ? unsigned(sibling->spec->shared_bytes) : kernel.shared;
  device_.launched(device_.cuda().cuLaunchKernel(function, unsigned(blocks), 1, 1, threads, 1, 1, shared,
                                                 stream, parameters_.data(), nullptr),
                   sibling ? sibling->spec->name : kernel.name, stream);
}

} // namespace tessera::runtime
