//===- UpdateInPlace.cpp - next values made in the place of the old ---------===//
//
// The next value of a variable, of a value that a loop carries or of a layer of a stack has a place: where
// the old one lies. A kernel that reads the old one, tile by tile as it writes the new one, is made to take
// it as the array that it updates, if nothing reads it afterwards. Without that the new one would be made
// elsewhere and copied.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::kernels {
namespace {

/// What stands for the output `out` of a kernel where an iteration begins; null: the kernel has a form that
/// is not known here.
Value atBegin(func::FuncOp kernel, BlockArgument out) {
  Block &entry = kernel.getBody().front();
  auto loops = entry.getOps<scf::ForOp>();
  if (loops.empty())
    return out;
  scf::ForOp loop = *loops.begin();
  if (!out.hasOneUse() || *out.getUsers().begin() != loop || std::next(loops.begin()) != loops.end())
    return {};
  return loop.getTiedLoopRegionIterArg(&*out.use_begin());
}

bool isSameSlice(tensor::ExtractSliceOp read, tensor::InsertSliceOp write) {
  return read.getMixedOffsets() == write.getMixedOffsets() && read.getMixedSizes() == write.getMixedSizes() &&
         read.getMixedStrides() == write.getMixedStrides() && read.getType() == write.getSourceType();
}

/// Whether what is made of `tile`, and of what is made of it, has each element from the same one of `tile`,
/// as far as it comes to what the kernel writes. Ops that are fused into one read and write it element by
/// element: a transposition would meet what it wrote.
bool staysInPlace(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto write = dyn_cast<tensor::InsertSliceOp>(user))
      return write.getSource() == use.get();
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (!generic || generic.getNumParallelLoops() != generic.getNumLoops() || !generic.isDpsInput(&use))
      return false;
    AffineMap read = generic.getMatchingIndexingMap(&use);
    return llvm::all_of(generic.getDpsInitsMutable(),
                        [&](OpOperand &made) { return generic.getMatchingIndexingMap(&made) == read; }) &&
           llvm::all_of(generic->getResults(), staysInPlace);
  });
}

/// Whether an iteration of `kernel` reads nothing of `in` but the tile of `out` that it writes, and of that
/// each element where it writes it.
bool readsWhatItWrites(func::FuncOp kernel, BlockArgument in, BlockArgument out) {
  Value begin = atBegin(kernel, out);
  if (!begin || in.getType() != out.getType() || in.use_empty())
    return false;
  if (begin == out) // one iteration
    return staysInPlace(in);
  auto loop = cast<scf::ForOp>(begin.getParentBlock()->getParentOp());
  Value next = loop.getTiedLoopYieldedValue(cast<BlockArgument>(begin))->get();
  auto write = next.getDefiningOp<tensor::InsertSliceOp>();
  if (!write || write.getDest() != begin)
    return false;
  return llvm::all_of(in.getUsers(), [&](Operation *user) {
    auto read = dyn_cast<tensor::ExtractSliceOp>(user);
    return read && read->getBlock() == loop.getBody() && isSameSlice(read, write) && staysInPlace(read);
  });
}

/// Reads of the old value of `root`, or of views of it, behind `op`.
bool isReadBehind(Value root, Operation *op) {
  return llvm::any_of(root.getUsers(), [&](Operation *user) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (isa<exec::ExecViewOpInterface>(user) && isReadBehind(user->getResult(0), op))
      return true;
    return here && here != op && op->isBeforeInBlock(here) && !isa<exec::ExecViewOpInterface>(user);
  });
}

/// Values that `value`, made by `launch`, is the next value of: each lies where `value` is to lie.
SmallVector<Value> oldValues(Value value, exec::LaunchOp launch) {
  SmallVector<Value> old;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto view = dyn_cast<exec::ExecViewOpInterface>(user); view && !view.getViewedLayer()) {
      Value same = view->getResult(0);
      if (exec::arrayBytes(plainType(same.getType())) == exec::arrayBytes(plainType(value.getType())))
        llvm::append_range(old, oldValues(same, launch));
    } else if (auto yield = dyn_cast<exec::YieldOp>(user)) {
      if (yield->getBlock() == launch->getBlock())
        old.push_back(cast<exec::ForOp>(yield->getParentOp()).getCarried()[use.getOperandNumber()]);
    } else if (auto ret = dyn_cast<func::ReturnOp>(user)) {
      auto func = cast<func::FuncOp>(ret->getParentOp());
      unsigned number = use.getOperandNumber();
      if (graph::resultKind(func, number) != graph::Kind::Parameter)
        continue;
      auto name = func.getResultAttrOfType<StringAttr>(number, graph::kNameAttr);
      for (auto param : func.getBody().front().getOps<exec::ParamOp>())
        if (name && param.getParam() == name.getValue())
          old.push_back(param);
    } else if (auto copy = dyn_cast<exec::LaunchOp>(user); copy && copy.getCopies()) {
      for (Operation *reader : copy.getOutputs()[0].getUsers())
        if (auto layer = dyn_cast<exec::LayerOp>(reader);
            layer && layer->getBlock() == copy->getBlock() && layer.getIndex() == copy.getScalars().front())
          old.push_back(layer);
    }
  }
  return old;
}

/// The input of `launch` that is all of one of `old`; -1: none that nothing else reads then or later.
int64_t inputOf(exec::LaunchOp launch, ArrayRef<Value> old) {
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    Value root = input;
    while (auto view = root.getDefiningOp<exec::ExecViewOpInterface>()) {
      if (view.getViewedLayer())
        break;
      root = view.getViewed();
    }
    if (!llvm::is_contained(old, root) ||
        exec::arrayBytes(plainType(root.getType())) != exec::arrayBytes(plainType(input.getType())))
      continue;
    Value array = exec::rootOf(launch.getInputs()[number]);
    bool isAlone = llvm::count_if(launch->getOperands(), [array](Value other) {
                     return isa<RankedTensorType>(other.getType()) && exec::rootOf(other) == array;
                   }) == 1;
    bool isRead = isReadBehind(root, launch);
    if (auto param = root.getDefiningOp<exec::ParamOp>())
      for (auto same : param->getBlock()->getOps<exec::ParamOp>())
        isRead |= same.getParam() == param.getParam() && isReadBehind(same, launch);
    if (isAlone && !isRead)
      return int64_t(number);
  }
  return -1;
}

/// `launch` with inputs that became outputs: pairs of their numbers.
void updateInPlace(Lowering &lowering, exec::LaunchOp launch, func::FuncOp kernel,
                   ArrayRef<std::pair<unsigned, unsigned>> pairs) {
  func::FuncOp inPlace = kernel.clone();
  Block &entry = inPlace.getBody().front();
  auto inputs = unsigned(launch.getInputs().size());
  SmallVector<Value> outputs(launch.getOutputs());
  BitVector gone(entry.getNumArguments());
  for (auto [in, out] : pairs) {
    BlockArgument taken = entry.getArgument(in);
    taken.replaceAllUsesWith(atBegin(inPlace, entry.getArgument(inputs + out)));
    gone.set(in);
    outputs[out] = launch.getInputs()[in];
  }
  entry.eraseArguments(gone);
  inPlace.setFunctionType(FunctionType::get(inPlace.getContext(), entry.getArgumentTypes(),
                                            inPlace.getFunctionType().getResults()));
  SmallVector<Value> left;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    if (!gone[number])
      left.push_back(input);
  OpBuilder builder(launch);
  auto next = exec::LaunchOp::create(builder, launch.getLoc(), launch.getResultTypes(),
                                     lowering.kernels.add(inPlace), left, outputs, launch.getScalars(),
                                     launch.getCountAttr(), launch.getGrainAttr());
  launch.replaceAllUsesWith(next.getResults());
  launch.erase();
}

} // namespace

void updateInPlace(Lowering &lowering) {
  llvm::SetVector<Operation *> replaced;
  SmallVector<exec::LaunchOp> launches;
  lowering.module.walk([&](exec::LaunchOp launch) { launches.push_back(launch); });
  for (exec::LaunchOp launch : launches) {
    auto kernel = lowering.module.lookupSymbol<func::FuncOp>(launch.getKernel());
    if (launch.getModes() || !kernel || kernel.isExternal())
      continue;
    SmallVector<std::pair<unsigned, unsigned>> pairs;
    for (auto [number, output] : llvm::enumerate(launch.getOutputs())) {
      if (!output.getDefiningOp<tensor::EmptyOp>())
        continue;
      int64_t input = inputOf(launch, oldValues(launch.getResults()[number], launch));
      Block &entry = kernel.getBody().front();
      if (input >= 0 && readsWhatItWrites(kernel, entry.getArgument(unsigned(input)),
                                          entry.getArgument(unsigned(launch.getInputs().size() + number))))
        pairs.push_back({unsigned(input), unsigned(number)});
    }
    if (pairs.empty())
      continue;
    replaced.insert(kernel);
    updateInPlace(lowering, launch, kernel, pairs);
  }
  llvm::DenseSet<StringRef> launched;
  lowering.module.walk([&](exec::LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (Operation *kernel : replaced)
    if (!launched.contains(cast<func::FuncOp>(kernel).getSymName()))
      kernel->erase();
}

} // namespace tessera::kernels
