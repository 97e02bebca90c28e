// Compiles kernel functions as llm-compile does for GPUs and runs them by the engine of the stand-in.
#ifndef TESSERA_TEST_UNIT_TARGETCUDA_DEVICEHARNESS_H
#define TESSERA_TEST_UNIT_TARGETCUDA_DEVICEHARNESS_H

#include "engine/Engine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <functional>
#include <map>
#include <string>

namespace tessera::test {

/// What kernels may touch: arrays of the test. Each lies at the end of its own range, so that one element
/// further is a finding.
class DeviceMemory : public standin::MemoryMap {
public:
  void *add(const void *data, size_t bytes, bool writable);
  std::optional<standin::MemoryRange> find(uintptr_t address) const override;

private:
  std::map<uintptr_t, standin::MemoryRange> ranges;
};

/// What the target's pipeline needs in a context.
void registerDeviceDialects(mlir::DialectRegistry &registry);

class DeviceKernels {
public:
  /// Compiles the kernels of `module`. On failure `error` says why; it is empty where a diagnostic does.
  static DeviceKernels compile(mlir::ModuleOp module);
  /// The same of what `fill` puts into an empty module, with the diagnostics as `error`.
  static DeviceKernels compile(const std::function<void(mlir::ModuleOp)> &fill);

  /// What orders accesses of several threads, of all kernels: what each is.
  std::vector<std::string> synchronizations() const;
  /// The same kernels without what one of these does: a barrier, the wait for copies, or what an
  /// atomic operation orders.
  DeviceKernels without(size_t synchronization) const;

  std::string error;
  std::shared_ptr<standin::Image> image;
  std::map<std::string, int64_t> threads, sharedBytes;

  /// One launch; the finding's text, or nothing.
  std::string run(const std::string &name, const std::vector<const void *> &buffers,
                  const std::vector<int64_t> &scalars, int64_t blocks, const standin::MemoryMap &memory,
                  uint64_t seed, bool races) const;

private:
  void load();
  std::string bitcode;
};

} // namespace tessera::test

#endif
