//===- FoldEpilogues.cpp - what a product does to its sums ------------------===//
//
// A library's product whose result is only added to, perhaps with relu or gelu_tanh at the end, does it
// itself where the target says that it can. The rule is one of bytes. With T those of the product's result y,
// and s what the chain ends in: as a kernel, y is written and read, and s is written if anyone but tiles of
// the same kernel reads it; in the product, s is written, and tiles read it. So if s is read by no tile, 2 T
// and a launch are saved; if others read it beside tiles, T; if tiles alone read it, nothing, for the kernel
// keeps s to itself. An addend is read once either way, provided that it lies in memory already.
//
//===----------------------------------------------------------------------===//

#include "Clusters.h"

#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Support/Shapes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace tessera::kernels {
namespace {

/// Whether somebody reads `value` from memory whatever kernels there are: it is not of a kernel's inside.
bool isStored(Value value) {
  Operation *def = value.getDefiningOp();
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !isa<TileLoweringOpInterface>(user) || user->getBlock() != def->getBlock();
  });
}

class EpilogueFold {
public:
  EpilogueFold(Lowering &lowering, exec::MatmulOp product)
      : lowering(lowering), product(product), block(*product->getBlock()), end(product.getResults()[0]) {}

  void run() {
    while (end.hasOneUse() && extend(*end.getUsers().begin()))
      ;
    if (end != product.getResults()[0] && isStored(end))
      replace();
  }

private:
  /// Takes the op that reads the end of the chain in too, if it can be the product's.
  bool extend(Operation *op) {
    if (op->getBlock() != &block || op->getNumResults() != 1 ||
        tensorOf(op->getResult(0)).getShape() != tensorOf(end).getShape() || function)
      return false;
    Value addition;
    ProductEpilogue wanted = epilogue();
    if (auto sum = dyn_cast<ElementwiseScalarOpInterface>(op); sum && sum.addsOperands()) {
      addition = op->getOperand(op->getOperand(0) == end ? 1 : 0);
      if (!liesInMemory(addition) || !isThereInTime(addition))
        return false;
      if (tensorOf(addition).getShape() == tensorOf(end).getShape() && !addend) {
        wanted.addend = true;
        wanted.inPlace = takesPlace(addition, op->getResult(0));
      } else if (isBias(addition) && !bias)
        wanted.biasAlignment = exec::alignmentOf(addition);
      else
        return false;
    } else {
      auto tile = dyn_cast<TileLoweringOpInterface>(op);
      wanted.function = tile ? tile.getProductFunction() : ProductFunction::None;
      if (wanted.function == ProductFunction::None)
        return false;
    }
    if (!lowering.target.takesEpilogue(wanted))
      return false;
    if (wanted.function != ProductFunction::None)
      function = wanted.function;
    else if (wanted.addend != bool(addend))
      addend = addition;
    else
      bias = addition;
    end = op->getResult(0);
    return true;
  }

  ProductEpilogue epilogue() {
    ProductEpilogue epilogue;
    epilogue.x = tensorOf(product.getInput()).getElementType();
    epilogue.w = product.getWeightElementType();
    epilogue.y = tensorOf(end).getElementType();
    epilogue.addend = bool(addend);
    epilogue.inPlace = addend && takesPlace(addend, end);
    if (bias)
      epilogue.biasAlignment = exec::alignmentOf(bias);
    epilogue.function = function.value_or(ProductFunction::None);
    return epilogue;
  }

  /// Whether `sum` may stand where `addition` stood, and no tile would have taken it from the cache.
  static bool takesPlace(Value addition, Value sum) {
    Value root = exec::rootOf(addition);
    auto arg = dyn_cast<BlockArgument>(root);
    bool isInput = arg && isa<func::FuncOp>(arg.getOwner()->getParentOp()) &&
                   graph::argumentKind(arg) != graph::Kind::State;
    return addition.hasOneUse() && !isInput && !isa_and_nonnull<exec::ParamOp>(root.getDefiningOp()) &&
           llvm::none_of(sum.getUsers(), [](Operation *user) { return isa<TileLoweringOpInterface>(user); });
  }

  /// One element for each column, repeated for all rows.
  bool isBias(Value value) {
    ArrayRef<int64_t> shape = tensorOf(end).getShape(), own = tensorOf(value).getShape();
    while (!own.empty() && own.front() == 1)
      own = own.drop_front();
    ArrayRef<int64_t> columns = shape.take_back(own.size());
    while (tessera::product(columns) < int64_t(product.getN()) && columns.size() < shape.size())
      columns = shape.take_back(columns.size() + 1);
    return tessera::product(own) == int64_t(product.getN()) &&
           tessera::product(columns) == int64_t(product.getN()) &&
           own == columns.drop_while([](int64_t size) { return size == 1; });
  }

  /// Not something that a kernel makes for itself.
  bool liesInMemory(Value value) {
    Value root = exec::rootOf(value);
    Operation *def = root.getDefiningOp();
    if (!def || def->getBlock() != &block || !isa<TileLoweringOpInterface>(def))
      return true;
    if (def->getNumOperands() == 0) // made again by whoever reads it
      return false;
    return root != value || isStored(root) || reach(product).contains(def);
  }

  /// Whether the product need not wait for other ranks, or a loop, to add it.
  bool isThereInTime(Value value) {
    Operation *def = exec::rootOf(value).getDefiningOp();
    if (!def || def->getBlock() != &block || def->isBeforeInBlock(product))
      return true;
    llvm::SmallPtrSet<Operation *, 16> needed = reach(def);
    needed.insert(def);
    return llvm::none_of(needed, [&](Operation *op) {
      auto access = dyn_cast<exec::ExecAccessOpInterface>(op);
      return product->isBeforeInBlock(op) &&
             (op->getNumRegions() > 0 || (access && access.isNeededElsewhere()));
    });
  }

  /// All of the block that `op` waits for.
  llvm::SmallPtrSet<Operation *, 16> reach(Operation *op) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<Operation *> work{op};
    while (!work.empty()) {
      SmallVector<Operation *> direct;
      collectDependencies(block, work.pop_back_val(), direct);
      for (Operation *def : direct)
        if (seen.insert(def).second)
          work.push_back(def);
    }
    return seen;
  }

  /// Where the chain ends: what is added is there by then.
  void replace() {
    OpBuilder builder(end.getDefiningOp());
    exec::MatmulOp whole = exec::MatmulOp::create(
        builder, product.getLoc(), TypeRange(end.getType()), product.getMAttr(), product.getNAttr(),
        product.getKAttr(), product.getInput(), product.getWeight(), product.getParamAttr(),
        product.getLayer(), exec::fresh(builder, end));
    whole.setInputTransposed(product.getInputTransposed());
    whole.setWeightTransposed(product.getWeightTransposed());
    if (bias)
      whole.getBiasMutable().assign(bias);
    if (addend)
      whole.getAddendMutable().assign(addend);
    if (function)
      whole.setFunction(*function);
    // The ops of the chain, last first.
    SmallVector<Operation *> chain;
    for (Operation *op = *product.getResults()[0].getUsers().begin(); op != end.getDefiningOp();
         op = *op->getResult(0).getUsers().begin())
      chain.push_back(op);
    chain.push_back(end.getDefiningOp());
    end.replaceAllUsesWith(whole.getResults()[0]);
    for (Operation *op : llvm::reverse(chain))
      op->erase();
    product.erase();
  }

  Lowering &lowering;
  exec::MatmulOp product;
  Block &block;
  Value end; ///< of the chain: what the product would give
  Value bias, addend;
  std::optional<ProductFunction> function;
};

} // namespace

void foldEpilogues(Lowering &lowering) {
  // The last product first: what it adds is stored for it then, and may be another product's end.
  SmallVector<exec::MatmulOp> products;
  lowering.module.walk([&](exec::MatmulOp op) {
    if (!op.getStarts()) // those by group add nothing
      products.push_back(op);
  });
  for (exec::MatmulOp op : llvm::reverse(products))
    EpilogueFold(lowering, op).run();
}

} // namespace tessera::kernels
