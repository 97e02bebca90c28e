// Compiles kernel functions as llm-compile does and runs them. Tests in this folder are every target's; what
// compiles and runs stands beside a target's own tests (HostKernels.cpp, EngineKernels.cpp).
#ifndef TESSERA_TEST_UNIT_KERNELS_KERNELHARNESS_H
#define TESSERA_TEST_UNIT_KERNELS_KERNELHARNESS_H

#include "tessera/Target/Forms/Draw.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::test {

using KernelFn = void (*)(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end);

/// A buffer as the arena gives it: 64-byte aligned, followed by guard bytes that a kernel must not touch.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t size, T value = T()) : size(size) {
    data = static_cast<T *>(std::aligned_alloc(64, (size * sizeof(T) + kGuard + 63) / 64 * 64));
    std::fill_n(data, size, value);
    std::fill_n(reinterpret_cast<uint8_t *>(data + size), kGuard, 0xA5);
  }
  Buffer(Buffer &&other) : data(std::exchange(other.data, nullptr)), size(other.size) {}
  ~Buffer() { std::free(data); }
  T &operator[](size_t i) { return data[i]; }
  const T &operator[](size_t i) const { return data[i]; }
  bool guardIntact() const {
    auto *guard = reinterpret_cast<const uint8_t *>(data + size);
    return std::all_of(guard, guard + kGuard, [](uint8_t byte) { return byte == 0xA5; });
  }

  T *data;
  size_t size;

private:
  static constexpr size_t kGuard = 128;
};

/// Numbers in [low, high), the same for a seed everywhere.
Buffer<float> randomFloats(size_t size, unsigned seed, float low = -1, float high = 1);

/// What runs compiled kernels.
class KernelProgram {
public:
  virtual ~KernelProgram() = default;
  virtual void run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars,
                   int64_t begin, int64_t end) const = 0;
  /// Code that the host can call; null where there is none.
  virtual KernelFn get(const std::string &name) const { return nullptr; }
};

class CompiledKernels {
public:
  /// From MLIR text, or from what `fill` puts into an empty module. On failure `error` says why and nothing
  /// can be run.
  static CompiledKernels fromText(const std::string &text, const std::string &cpu = "native");
  static CompiledKernels fromBuilder(const std::function<void(mlir::ModuleOp)> &fill,
                                     const std::string &cpu = "native");

  KernelFn get(const std::string &name) const { return program ? program->get(name) : nullptr; }
  /// Runs iterations [begin, end) of `name` on `buffers`.
  void run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars, int64_t begin,
           int64_t end) const {
    program->run(name, std::move(buffers), std::move(scalars), begin, end);
  }

  std::string error;
  std::vector<std::string> calls; ///< functions of libraries that the code needs, but for memset and memcpy
  int64_t instructions = 0;       ///< of LLVM, before its optimizer
  std::unique_ptr<KernelProgram> program;
};

/// What the target's pipeline needs in a context. Defined by the target's tests.
void registerKernelDialects(mlir::DialectRegistry &registry);
/// Compiles the kernels of `module` into `result`; false after an error, which is a diagnostic or
/// `result.error`. `cpu` is for targets with such an option. Defined by the target's tests.
bool compileKernels(mlir::ModuleOp module, const std::string &cpu, CompiledKernels &result);
/// The target's kernel that draws tokens. Defined by the target's tests.
mlir::func::FuncOp buildTargetDrawKernel(mlir::Location loc, llvm::StringRef name, const DrawShape &shape);

/// Largest |x - y| / max(|y|, floor) over two arrays.
double maxRelativeError(const float *x, const std::vector<double> &y, double floor = 1e-3);
double maxAbsoluteError(const float *x, const std::vector<double> &y);

} // namespace tessera::test

#endif
