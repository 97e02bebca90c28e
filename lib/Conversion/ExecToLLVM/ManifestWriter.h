//===- ManifestWriter.h - The static facts of a program ---------*- C++ -*-===//
//
// Collects what the host functions refer to, gives it numbers, and writes docs/Manifest.md's JSON.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_EXECTOLLVM_MANIFESTWRITER_H
#define TESSERA_LIB_CONVERSION_EXECTOLLVM_MANIFESTWRITER_H

#include "tessera/Analysis/Arena/ArenaShares.h"
#include "tessera/Analysis/Sharding/Mesh.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

#include <set>

namespace tessera::exec {

class ManifestWriter : public ManifestTables {
public:
  ManifestWriter(mlir::ModuleOp module, TargetSection target);

  /// Numbers that calls use; equal things share one.
  int64_t param(mlir::FlatSymbolRefAttr symbol) const override;
  int64_t matmul(MatmulOp op) override;
  int64_t group(mlir::ArrayAttr axes) override;
  int64_t collective(ExecCollectiveOpInterface op) override;

  /// Adds an entry; its collectives are counted, loops included. Call in the order of the program's table. An
  /// error if a count that the call gives fits none of the loops that use it.
  mlir::LogicalResult addEntry(mlir::func::FuncOp entry);
  /// The document, after all entries.
  std::string text();

private:
  llvm::json::Object paramJson(mlir::Operation *op);
  llvm::json::Array axesJson(llvm::ArrayRef<AxisRef> axes) const;
  const Mesh &getMesh() const override { return mesh; }
  llvm::json::Array axesJson(mlir::ArrayAttr axes) const override;
  llvm::json::Array shardingJson(dist::ShardingAttr sharding) const override;
  llvm::json::Object portJson(mlir::DictionaryAttr port) const;
  llvm::json::Array callsJson(mlir::Block &block);
  void addBuffers(mlir::func::FuncOp entry);
  llvm::json::Object arenaJson() const;
  llvm::json::Array savedJson() const;
  mlir::LogicalResult addFills(mlir::func::FuncOp entry, llvm::json::Array &inputs);

  /// Numbers of the states and parameters that an entry's ops touch.
  struct EntryUses {
    std::set<int64_t> statesRead, statesWritten, paramsRead, paramsUpdated;
  };
  EntryUses usesOf(mlir::func::FuncOp entry) const;

  mlir::ModuleOp module;
  TargetSection target;
  Mesh mesh;
  llvm::MapVector<mlir::StringAttr, llvm::json::Object> params;
  llvm::MapVector<mlir::StringAttr, int64_t> paramNumbers;
  std::vector<llvm::json::Value> matmuls, groups, collectives, entries;
  int64_t events = 0; ///< numbers of events are below it
  std::vector<mlir::func::FuncOp> entryFuncs;
  /// What entries have in the arena: what it counts as, and which value it is.
  struct Buffer {
    ArenaClaim claim;
    mlir::MemRefType type;
    llvm::StringRef value;
  };
  std::vector<Buffer> buffers;
};

} // namespace tessera::exec
#endif
