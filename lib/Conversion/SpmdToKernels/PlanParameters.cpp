//===- PlanParameters.cpp - which weights are packed for matmul -------------===//
//
// A parameter that every reader in the module can read packed (a product, or a table of rows beside one: tied
// embeddings) is held packed, once. So is one that is gathered, or that rows are only looked up in, if it is
// in blocks and all readers can read those. Everything else is a plain array.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/Support/MathExtras.h"

namespace tessera::kernels {
namespace {

/// All that the module says about one parameter.
struct Parameter {
  graph::ParameterOp op;
  SmallVector<BlockArgument> args;
  SmallVector<dist::AllGatherOp> gathers; ///< of it, or of layers of it
};

/// Uses of a value, through views of single layers, and through gathers of pieces that can be taken as they
/// are held.
void collectUses(const Lowering &lowering, Value value, SmallVectorImpl<OpOperand *> &uses,
                 SmallVectorImpl<dist::AllGatherOp> &gathers) {
  for (OpOperand &use : value.getUses()) {
    if (viewsLayer(use.getOwner())) {
      collectUses(lowering, use.getOwner()->getResult(0), uses, gathers);
    } else if (auto gather = dyn_cast<dist::AllGatherOp>(use.getOwner());
               gather && gathersPieces(lowering, gather)) {
      gathers.push_back(gather);
      for (OpOperand &read : gather.getResult().getUses())
        uses.push_back(&read);
    } else {
      uses.push_back(&use);
    }
  }
}

/// How all readers take a parameter.
struct Packing {
  int64_t outDims = 0;  ///< of the packed [out..., in...] matrix
  bool profits = false; ///< packed floats are better than a plain array, too
};

/// If all uses agree to read the parameter as a packed matrix.
std::optional<Packing> packingOf(const Lowering &lowering, Parameter &parameter) {
  std::optional<Packing> packing;
  // An update gives all of it a new value, which is plain.
  for (BlockArgument arg : parameter.args) {
    auto func = cast<func::FuncOp>(arg.getOwner()->getParentOp());
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (graph::resultKind(func, i) == graph::Kind::Parameter &&
          func.getResultAttr(i, graph::kNameAttr) == graph::ParameterOp(parameter.op).getSymNameAttr())
        return std::nullopt;
  }
  for (BlockArgument arg : parameter.args) {
    SmallVector<OpOperand *> uses;
    collectUses(lowering, arg, uses, parameter.gathers);
    // One array in the checkpoint that is read layer by layer: only stacks are packed by layer.
    bool byLayer = llvm::any_of(arg.getUsers(), viewsLayer);
    if (byLayer && !graph::ParameterOp(parameter.op).getStacked())
      return std::nullopt;
    for (OpOperand *use : uses) {
      const LibraryForm *reader = lowering.formOf(use->getOwner());
      std::optional<PackedUse> packed = reader ? reader->packedUse(*use) : std::nullopt;
      if (!packed || (packing && packing->outDims != packed->outDims))
        return std::nullopt;
      if (use->get().getDefiningOp<dist::AllGatherOp>() && !packed->gathered)
        return std::nullopt;
      packing = Packing{packed->outDims, packed->profits || (packing && packing->profits)};
    }
  }
  return packing;
}

/// Bytes from a layer of a plain stack to the next, where the target wants more than a layer has; else 0.
/// Only stacks that are read layer by layer can be held so: whoever takes all of one takes one array.
int64_t alignedLayer(const Lowering &lowering, const Parameter &parameter) {
  graph::ParameterOp op = parameter.op;
  bool byLayer = op.getStacked() && !op.getVariable();
  for (BlockArgument arg : parameter.args)
    byLayer &= llvm::all_of(arg.getUsers(), viewsLayer);
  if (!byLayer)
    return 0;
  RankedTensorType type = tensorOf(parameter.args.front());
  int64_t layer = exec::arrayBytes(type) / std::max<int64_t>(type.getDimSize(0), 1),
          held = int64_t(llvm::alignTo(layer, lowering.target.layerAlignment()));
  return held == layer ? 0 : held;
}

} // namespace

LogicalResult planParameters(Lowering &lowering) {
  llvm::MapVector<StringAttr, Parameter> parameters;
  for (auto op : lowering.module.getOps<graph::ParameterOp>())
    parameters[op.getSymNameAttr()].op = op;
  for (auto func : lowering.module.getOps<func::FuncOp>())
    for (BlockArgument arg : func.isExternal() ? MutableArrayRef<BlockArgument>() : func.getArguments()) {
      if (graph::argumentKind(arg) != graph::Kind::Parameter)
        continue;
      auto name = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
      auto it = name ? parameters.find(name) : parameters.end();
      if (it == parameters.end())
        return func.emitOpError() << "argument " << arg.getArgNumber()
                                  << " is a parameter, but no graph.parameter "
                                  << (name ? name.getValue() : "") << " says where it comes from";
      Parameter &parameter = it->second;
      if (!parameter.args.empty() && parameter.args.front().getType() != arg.getType())
        return func.emitOpError() << "takes parameter " << name << " as " << arg.getType()
                                  << ", another function as " << parameter.args.front().getType();
      parameter.args.push_back(arg);
    }

  for (auto &[name, parameter] : parameters) {
    if (parameter.args.empty())
      continue;
    auto type = tensorOf(parameter.args.front());
    if (auto dtype = exec::elementDType(type.getElementType()); !dtype || !io::traits(*dtype).narrow)
      return parameter.op->emitOpError()
             << "is of " << type.getElementType() << ": weights are held as f32, bf16 or f16";
    Builder builder(type.getContext());
    parameter.op->setAttr(exec::kLocalTypeAttr, TypeAttr::get(plainType(type)));
    if (auto sharding = dist::getShardingAttr(type))
      parameter.op->setAttr(exec::kShardingAttr, sharding);
    if (std::optional<Packing> packing = packingOf(lowering, parameter)) {
      parameter.op->setAttr(exec::kPackAttr, builder.getI64IntegerAttr(packing->outDims));
      if (failed(holdBlocks(lowering, parameter.op, packing->outDims)))
        return failure();
      bool inBlocks = parameter.op->hasAttr(exec::kHeldAttr);
      if (inBlocks && !parameter.gathers.empty())
        gatherPieces(lowering, parameter.op, parameter.gathers);
      if (inBlocks || (packing->profits && parameter.gathers.empty()))
        continue;
      parameter.op->removeAttr(exec::kPackAttr); // floats are looked up in, and gathered, as they lie
    }
    if (int64_t apart = alignedLayer(lowering, parameter); apart != 0)
      parameter.op->setAttr(exec::kLayerBytesAttr, builder.getI64IntegerAttr(apart));
    for (BlockArgument arg : parameter.args) {
      if (arg.use_empty())
        continue;
      OpBuilder atEntry = OpBuilder::atBlockBegin(arg.getOwner());
      Value plain = exec::ParamOp::create(atEntry, arg.getLoc(), arg.getType(), FlatSymbolRefAttr::get(name));
      arg.replaceAllUsesWith(plain);
    }
  }
  return success();
}

LogicalResult eraseParameterArguments(Lowering &lowering) {
  for (auto func : lowering.module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    BitVector erased(func.getNumArguments());
    for (BlockArgument arg : func.getArguments()) {
      if (graph::argumentKind(arg) != graph::Kind::Parameter)
        continue;
      // Views of layers whose only reader was a matmul.
      for (Operation *user : llvm::make_early_inc_range(arg.getUsers()))
        if (viewsLayer(user) && user->use_empty())
          user->erase();
      if (!arg.use_empty())
        return func.emitOpError() << "argument " << arg.getArgNumber()
                                  << " is a packed parameter with a use that is no matmul";
      erased.set(arg.getArgNumber());
    }
    if (failed(func.eraseArguments(erased)))
      return failure();
  }
  return success();
}

} // namespace tessera::kernels
