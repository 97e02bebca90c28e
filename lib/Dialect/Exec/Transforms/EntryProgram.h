//===- EntryProgram.h - An entry as what it does to memory ------*- C++ -*-===//
//
// Turns an entry of rung exec into an ArenaProgram (plain data: ranges, loops, streams and events), which the
// checks and plans of lib/Analysis work on.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_EXEC_TRANSFORMS_ENTRYPROGRAM_H
#define TESSERA_LIB_DIALECT_EXEC_TRANSFORMS_ENTRYPROGRAM_H

#include "tessera/Analysis/Arena/ArenaProgram.h"
#include "tessera/Dialect/Exec/IR/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace tessera::exec {

/// The entries of a module, in its order.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);

class EntryProgram {
public:
  explicit EntryProgram(mlir::func::FuncOp entry) : entry(entry) {}

  /// `entries`: all of the module, whose ports are places too. With `unread`, what nobody reads counts.
  /// Errors are at the ops that do not say what they do.
  mlir::LogicalResult build(llvm::ArrayRef<mlir::func::FuncOp> entries, bool unread = false);
  const ArenaProgram &get() const { return program; }

  /// The op of an item.
  mlir::Operation *op(int tag) const { return tagged[size_t(tag)].op; }
  /// "operand #1"; of a port "input 'tokens'".
  const std::string &accessName(int tag, int access) const {
    return tagged[size_t(tag)].accesses[size_t(access)];
  }
  const std::string &portName(int port) const { return portNames[size_t(port)]; }

private:
  struct Tagged {
    mlir::Operation *op;
    llvm::SmallVector<std::string, 0> accesses; ///< what each access is of
  };

  mlir::LogicalResult addPorts(llvm::ArrayRef<mlir::func::FuncOp> entries);
  mlir::LogicalResult addBlock(mlir::Block &block, std::vector<ArenaItem> &items);
  ArenaItem &addItem(mlir::Operation *op, std::vector<ArenaItem> &items);
  void addWaits(mlir::Operation *op, ArenaOp &made);
  mlir::LogicalResult addOp(ExecAccessOpInterface op, std::vector<ArenaItem> &items);
  mlir::FailureOr<ArenaAccess> accessOf(mlir::Operation *op, const Access &access);
  mlir::LogicalResult addParameter(mlir::Operation *op, const ParameterAccess &named, ArenaOp &made);
  int memoryOf(mlir::FlatSymbolRefAttr param, bool packed);
  void addSharedMemory(LaunchOp launch, ArenaOp &made);
  mlir::FailureOr<ArenaIndex> indexOf(mlir::Operation *op, mlir::Value value);

  mlir::func::FuncOp entry;
  bool unread = false; ///< what nobody reads is an error
  ArenaProgram program;
  std::vector<std::string> portNames;
  std::vector<Tagged> tagged; ///< by tag
  llvm::DenseMap<mlir::Value, int> buffers, depths, tokens;
  llvm::DenseMap<mlir::Value, int64_t> steps;               ///< of loops, by their index
  std::map<std::pair<llvm::StringRef, bool>, int> memories; ///< by parameter and whether it is packed
  std::map<llvm::StringRef, int> sharedMemories; ///< by kernel: the buffer; -1: launches share none
  int depth = 0;
};

} // namespace tessera::exec
#endif
