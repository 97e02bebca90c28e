//===- CPUCodeTarget.h - Targets whose kernels are CPU code -----*- C++ -*-===//
#ifndef TESSERA_TARGET_CPU_CPUCODETARGET_H
#define TESSERA_TARGET_CPU_CPUCODETARGET_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/Target.h"

namespace tessera {

/// Everything but which ops have forms of their own (`forms`, filled by who derives from it) and the sizes
/// that work is cut to. Its programs run on the runtime's driver `cpu`.
class CPUCodeTarget : public Target {
public:
  explicit CPUCodeTarget(CPUTarget machine) : machine(std::move(machine)) {}

  TilingChoices tiling() const override { return {}; }
  const LibraryForms &libraryForms() const override { return forms; }
  void buildKernelPipeline(mlir::OpPassManager &pm) const override;
  TargetSection manifestSection() const override;
  int64_t packedBytes(int64_t rows, int64_t columns, io::DType type) const override;
  Status emitObject(mlir::ModuleOp module, llvm::StringRef path) const override;
  Status link(const LinkOptions &options, llvm::StringRef output) const override;

protected:
  CPUTarget machine;
  LibraryForms forms;
};

} // namespace tessera
#endif
