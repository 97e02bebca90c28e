//===- BufferAssignment.h - Which values share a buffer ---------*- C++ -*-===//
//
// Every tensor of a host function gets a storage. Values that follow from each other without being needed at
// the same time (a loop's carried values, a result and the output it becomes, an array updated in place)
// share one; the rest have their own, placed by the arena planner. Where sharing is impossible the rewriting
// copies.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_KERNELSTOEXEC_BUFFERASSIGNMENT_H
#define TESSERA_LIB_CONVERSION_KERNELSTOEXEC_BUFFERASSIGNMENT_H

#include "tessera/Analysis/Arena/ArenaPlanner.h"
#include "tessera/Dialect/Exec/IR/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace tessera::exec {

/// Steps (inclusive) between which a value is needed.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool overlaps(const LiveRange &o) const { return first <= o.last && o.first <= last; }
};

/// Ops that values are needed until though they do not read them: behind these they are copied.
using NeededUntil = llvm::DenseMap<mlir::Value, mlir::Operation *>;

/// Results that lie in the parameter that their launch updates.
using MadeInParameters = llvm::DenseSet<mlir::Value>;

/// What `value` is another shape of, all of it.
mlir::Value wholeOf(mlir::Value value);

class BufferAssignment {
public:
  /// `argumentOffsets`, `resultOffsets`: places of the function's arguments and results; `writable[i]`:
  /// argument i may be overwritten (a state
  /// that the function returns).
  BufferAssignment(mlir::func::FuncOp func, llvm::ArrayRef<int64_t> argumentOffsets,
                   llvm::ArrayRef<bool> writable, llvm::ArrayRef<int64_t> resultOffsets,
                   const NeededUntil &neededUntil, const MadeInParameters &madeInParameters);

  /// The storage of a tensor value that is no view and lies in no parameter.
  int storage(mlir::Value value) { return find(numberOf.lookup(value)); }
  bool hasStorage(mlir::Value value) const { return numberOf.count(value); }
  /// What ranks exchange may run beside other work: it may begin once what it takes is there and what was
  /// exchanged before is done, and what it takes is busy until what it gives is needed. Until then nothing
  /// else gets these places, or it would have to wait. To be called before `place`.
  void letCommunicationRunBeside() { letCommunicationRunBeside(func.getBody().front(), 0); }
  /// The layer of a stack in whose place a storage lies: what would be copied there is made there.
  struct Layer {
    mlir::Value stack, index; ///< the stack that this layer goes into
  };
  /// None: the storage has a place of its own.
  std::optional<Layer> layerOf(int storage) const { return nodes[storage].layer; }
  /// Whether `copy` (LaunchOp::getCopies) has nothing to do: its input lies there already.
  bool isInPlace(LaunchOp copy) { return inPlace.contains(copy); }
  /// Places every storage that has no place yet, from `base` on. Returns the end of the highest one.
  int64_t place(int64_t base);
  int64_t offset(int storage) const { return nodes[storage].offset; }
  /// Of the array that lies there; values of other shapes are views of it.
  mlir::Type type(int storage) const { return nodes[storage].type; }
  /// All values that have a storage, with it, in the order of the program.
  llvm::SmallVector<std::pair<mlir::Value, int>> values() {
    llvm::SmallVector<std::pair<mlir::Value, int>> all;
    for (auto [value, number] : numberOf)
      all.push_back({value, find(number)});
    return all;
  }

private:
  struct Node {
    int parent;
    int64_t offset = -1; ///< in the arena; -1: not placed
    bool readOnly = false;
    llvm::SmallVector<LiveRange, 4> ranges;
    llvm::SmallVector<LiveRange, 1> reserved; ///< steps in which the place is taken though no value is in it
    mlir::Type type;
    bool shared = false;        ///< of several values
    std::optional<Layer> layer; ///< a layer of another storage
  };

  void numberOps(mlir::Block &block);
  void addValues(mlir::Block &block);
  void coalesce(mlir::Block &block);
  void letCommunicationRunBeside(mlir::Block &block, int64_t begin);
  void placeInLayers(mlir::Block &block);
  bool placeInLayer(LaunchOp copy);
  bool isMadeAnew(int stack, mlir::Value index, int64_t first, int64_t last);
  bool isReadFrom(int stack, mlir::Value index, int64_t first);
  bool isFreeUntil(int stack, mlir::Value index, mlir::Operation *maker, LaunchOp copy);
  int add(mlir::Value value, int64_t first);
  int64_t lastUse(mlir::Value value, int64_t first);
  int64_t firstUse(mlir::Value value);
  int find(int node);
  /// Another operand of `output`'s op reads the same storage: what is written must lie elsewhere.
  bool isReadBeside(mlir::OpOperand &output);
  /// One storage for both, unless they are needed at the same time (the step `touching` excepted) or have two
  /// places.
  bool unify(mlir::Value a, mlir::Value b, int64_t touching = -1);

  mlir::func::FuncOp func;
  const NeededUntil &neededUntil;
  const MadeInParameters &madeInParameters;
  int64_t steps = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> stepOf, endOf; ///< endOf: of a loop, the step of its yield
  llvm::MapVector<mlir::Value, int> numberOf;
  std::vector<Node> nodes;
  llvm::SmallPtrSet<mlir::Operation *, 8> inPlace;
};

} // namespace tessera::exec
#endif
