//===- BufferizeKernels.cpp - kernels from tensors to buffers ----------------===//

#include "tessera/Target/Kernels/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera {
#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "tessera/Target/Kernels/Passes.h.inc"

using namespace mlir;

namespace {

/// The loop-carried value inside the loops around `user` that started as `out`, or `out` itself.
Value carriedValue(Value out, Operation *user, func::FuncOp func) {
  SmallVector<scf::ForOp> loops;
  for (Operation *op = user->getParentOp(); op && op != func; op = op->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
  Value current = out;
  for (scf::ForOp loop : llvm::reverse(loops))
    for (auto [init, arg] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs()))
      if (init == current) {
        current = arg;
        break;
      }
  return current;
}

/// True if `value` is `carried` with nothing but updates in between, so that both can be one buffer.
bool isUpdateOf(Value value, Value carried) {
  while (value != carried) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      value = insert.getDest();
    } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
      value = insert.getDest();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      value = loop.getInitArgs()[number];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      return isUpdateOf(branch.thenYield().getOperand(number), carried) &&
             isUpdateOf(branch.elseYield().getOperand(number), carried);
    } else if (auto dps = dyn_cast<DestinationStyleOpInterface>(op)) {
      value = dps.getTiedOpOperand(result)->get();
    } else {
      return false;
    }
  }
  return true;
}

/// Lets `yielded`, an operand of a yield, be an update of `carried`: what is something else gets written
/// there, in the branch that makes it.
void tieToOutput(OpOperand &yielded, Value carried) {
  if (isUpdateOf(yielded.get(), carried))
    return;
  if (auto branch = yielded.get().getDefiningOp<scf::IfOp>(); branch && yielded.get().hasOneUse()) {
    unsigned number = cast<OpResult>(yielded.get()).getResultNumber();
    tieToOutput(branch.thenYield()->getOpOperand(number), carried);
    tieToOutput(branch.elseYield()->getOpOperand(number), carried);
    return;
  }
  Operation *yield = yielded.getOwner();
  // What is already in another output, where it is made, is read there: of two outputs of one value the first
  // one's is written over nothing that the second one still needs.
  Value source = yielded.get();
  for (Operation *user : yielded.get().getUsers())
    if (auto written = dyn_cast<bufferization::MaterializeInDestinationOp>(user);
        written && user->getBlock() == yield->getBlock() && written.getSource() == yielded.get())
      source = written->getResult(0);
  OpBuilder builder(yield);
  yielded.set(bufferization::MaterializeInDestinationOp::create(builder, yield->getLoc(), carried.getType(),
                                                                source, carried)
                  ->getResult(0));
}

/// A loop that yields something else than its updated output (an insertion of the whole folds to what is
/// inserted) gets that written into the output.
void tieYieldsToOutputs(func::FuncOp func) {
  func.walk([](scf::ForOp loop) {
    for (auto [operand, carried] :
         llvm::zip(loop.getBody()->getTerminator()->getOpOperands(), loop.getRegionIterArgs()))
      if (isa<RankedTensorType>(carried.getType()))
        tieToOutput(operand, carried);
  });
}

/// Writes its result without reading a tensor: an empty one, or one filled with a constant.
bool isFreshTensor(Operation *op) {
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  return isa<tensor::EmptyOp>(op) || (dps && llvm::all_of(dps.getDpsInputs(), [](Value input) {
                                        return !isa<TensorType>(input.getType());
                                      }));
}

/// Every op that updates a tensor gets one that no other op updates, unless only one of the two can run (the
/// branches of an `scf.if`). Two sums that begin with the same zeros (CSE merges them) would both be computed
/// in the output of one of them, and the first result written there is the second's end.
void separateDestinations(func::FuncOp func) {
  SmallVector<Operation *> producers;
  func.walk([&](Operation *op) { producers.push_back(op); });
  // From the last to the first: a copy of a fill is one more use of its empty tensor.
  for (Operation *op : llvm::reverse(producers))
    for (Value value : op->getResults()) {
      if (!isa<RankedTensorType>(value.getType()))
        continue;
      SmallVector<OpOperand *> kept, separated;
      for (OpOperand &use : value.getUses()) {
        auto dps = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
        auto loop = dyn_cast<scf::ForOp>(use.getOwner());
        if (!(dps && dps.isDpsInit(&use)) &&
            !(loop && use.getOperandNumber() >= loop.getNumControlOperands()))
          continue;
        bool alone = llvm::all_of(kept, [&](OpOperand *other) {
          return insideMutuallyExclusiveRegions(use.getOwner(), other->getOwner());
        });
        (alone ? kept : separated).push_back(&use);
      }
      for (OpOperand *use : separated) {
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        if (isFreshTensor(op)) {
          use->set(builder.clone(*op)->getResult(cast<OpResult>(value).getResultNumber()));
          continue;
        }
        auto type = cast<RankedTensorType>(value.getType());
        Value empty = tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType());
        use->set(linalg::CopyOp::create(builder, op->getLoc(), value, empty).getResult(0));
      }
    }
}

/// A loop inside a branch fills a temporary of its own: in the output of a loop around both it would, for all
/// that the analysis can tell, write over what the other branch leaves as it is.
void keepTemporariesOfBranches(func::FuncOp func) {
  func.walk([](scf::ForOp loop) {
    if (!loop->getParentOfType<scf::IfOp>())
      return;
    for (OpOperand &init : loop.getInitArgsMutable())
      if (auto empty = init.get().getDefiningOp<tensor::EmptyOp>()) {
        OpBuilder builder(loop);
        init.set(bufferization::AllocTensorOp::create(builder, loop.getLoc(), empty.getType(), ValueRange()));
      }
  });
}

struct BufferizeKernels : impl::BufferizeKernelsBase<BufferizeKernels> {
  /// Reads of an input that shares its buffer with an output go through the output.
  LogicalResult linkInplaceArguments(func::FuncOp func) {
    for (BlockArgument out : func.getArguments()) {
      auto attr = func.getArgAttrOfType<IntegerAttr>(out.getArgNumber(), kInplaceAttr);
      if (!attr)
        continue;
      int64_t number = attr.getInt();
      if (number < 0 || number >= int64_t(out.getArgNumber()) ||
          func.getArgument(number).getType() != out.getType())
        return func.emitError() << "argument " << out.getArgNumber() << " of kernel '" << func.getName()
                                << "' is in place of argument " << number
                                << ", which is not an earlier argument of the same type";
      for (OpOperand &use : llvm::make_early_inc_range(func.getArgument(number).getUses()))
        use.set(carriedValue(out, use.getOwner(), func));
      func.removeArgAttr(out.getArgNumber(), kInplaceAttr);
    }
    return success();
  }

  /// Arguments become memrefs; results are materialized in the last tensor arguments.
  LogicalResult convertBoundary(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return func.emitError() << "kernel '" << func.getName() << "' must have one block";
    Block &entry = func.getBody().front();
    auto ret = cast<func::ReturnOp>(entry.getTerminator());
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    SmallVector<BlockArgument> tensorArgs;
    for (BlockArgument arg : entry.getArguments()) {
      if (auto type = dyn_cast<TensorType>(arg.getType())) {
        auto ranked = dyn_cast<RankedTensorType>(type);
        if (!ranked || !ranked.hasStaticShape())
          return func.emitError() << "argument " << arg.getArgNumber() << " of kernel '" << func.getName()
                                  << "' has type " << arg.getType() << ", not a tensor of static shape";
        tensorArgs.push_back(arg);
      } else if (!arg.getType().isIndex()) {
        return func.emitError() << "argument " << arg.getArgNumber() << " of kernel '" << func.getName()
                                << "' has type " << arg.getType() << "; kernels take tensors, then indices";
      }
    }
    if (ret.getNumOperands() > tensorArgs.size() || entry.getNumArguments() < tensorArgs.size() + 2)
      return func.emitError()
             << "kernel '" << func.getName()
             << "' needs an output argument for each result and two index arguments for its range";

    DenseMap<Value, Value> bufferOf; // tensor view of an argument -> its memref
    SmallVector<Value> views;
    for (BlockArgument arg : tensorArgs) {
      auto type = cast<RankedTensorType>(arg.getType());
      SmallVector<OpOperand *> uses = llvm::map_to_vector(arg.getUses(), [](OpOperand &use) { return &use; });
      arg.setType(MemRefType::get(type.getShape(), type.getElementType()));
      auto view = bufferization::ToTensorOp::create(builder, arg.getLoc(), type, arg, /*restrict=*/true,
                                                    /*writable=*/true);
      views.push_back(view);
      bufferOf[view] = arg;
      for (OpOperand *use : uses) {
        // A body written on buffers already (attention) takes the argument's own.
        if (auto toBuffer = dyn_cast<bufferization::ToBufferOp>(use->getOwner());
            toBuffer && toBuffer.getType() == arg.getType()) {
          toBuffer.replaceAllUsesWith(Value(arg));
          toBuffer.erase();
        } else {
          use->set(view);
        }
      }
    }
    builder.setInsertionPoint(ret);
    auto outputs = ArrayRef<Value>(views).take_back(ret.getNumOperands());
    for (BlockArgument arg : ArrayRef(tensorArgs).take_back(ret.getNumOperands()))
      func.setArgAttr(arg.getArgNumber(), kOutputAttr, builder.getUnitAttr());
    // As tensors first: what is written to a memref alone is, for all that the analysis can tell, nowhere
    // near what is read of an output that is updated, and a sum would begin there before that is read.
    for (auto [operand, output] : llvm::zip(ret->getOpOperands(), outputs))
      tieToOutput(operand, output);
    for (auto [result, output] : llvm::zip(ret.getOperands(), outputs)) {
      if (result == output)
        continue;
      auto store = bufferization::MaterializeInDestinationOp::create(builder, ret.getLoc(), /*result=*/Type(),
                                                                     result, bufferOf.lookup(output));
      store.setRestrict(true);
      store.setWritable(true);
    }
    ret->setOperands({});
    for (Value view : views)
      if (view.use_empty())
        view.getDefiningOp()->erase();
    func.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
    func.removeResAttrsAttr();
    return success();
  }

  LogicalResult bufferize(func::FuncOp func) {
    if (failed(linkInplaceArguments(func)) || failed(convertBoundary(func)))
      return failure();
    tieYieldsToOutputs(func);
    separateDestinations(func);
    keepTemporariesOfBranches(func);
    IRRewriter rewriter(&getContext());
    // Lets a tile be computed where it is inserted afterwards.
    if (failed(bufferization::eliminateEmptyTensors(rewriter, func)))
      return failure();
    bufferization::OneShotBufferizationOptions options;
    bufferization::BufferizationState state;
    return bufferization::runOneShotBufferize(func, options, state);
  }

  void runOnOperation() override {
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (func->hasAttr(kKernelAttr) && !func.isExternal() && failed(bufferize(func)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tessera
