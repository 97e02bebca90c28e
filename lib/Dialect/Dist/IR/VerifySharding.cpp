//===- VerifySharding.cpp - Do an op's shardings agree with its rule? -----===//
//
// What makes a forgotten all_reduce or gather an error of the verifier instead of a wrong number.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/Projection.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/ShardingAgrees.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LogicalResult tessera::dist::verifyShardedType(Operation *op, Type type, StringRef what) {
  ShardingAttr sharding = getShardingAttr(type);
  if (!sharding)
    return success();
  MeshOp meshOp = lookupMesh(op, sharding.getMesh());
  if (!meshOp)
    return failure();
  Mesh mesh = meshOp.getMesh().toMesh();
  auto tensor = cast<RankedTensorType>(type);
  if (std::string error = checkSharding(sharding, mesh, tensor.getRank()); !error.empty())
    return op->emitOpError() << what << ": " << error;
  if (!sharding.isLocal())
    return success();
  SmallVector<int64_t> local = sharding.toSharding(mesh).localShape(sharding.getGlobal());
  for (auto [i, size] : llvm::enumerate(local))
    if (tensor.getDimSize(i) != size)
      return op->emitOpError() << what << ": dimension " << i << " has local size " << tensor.getDimSize(i)
                               << ", but a global size of " << sharding.getGlobal()[i] << " over "
                               << sharding.toSharding(mesh).shards(int(i)) << " shards makes " << size;
  return success();
}

namespace {
/// One verification: the op's tensors, operands first, and its rule.
class Agreement {
public:
  /// `isLocal`: on rung spmd, where the op runs as it is.
  Agreement(ShardingRuleOpInterface op, const Mesh &mesh, bool isLocal)
      : op(op), mesh(mesh), rule(isLocal ? op.getShardingRule() : op.getShardingRule().withWindows()) {
    auto add = [&](Twine name, Type type, const TensorFactors &factors) {
      tensors.push_back(
          {name.str(), cast<RankedTensorType>(type), factors, getShardingAttr(type).toSharding(mesh), {}});
      Tensor &tensor = tensors.back();
      tensor.projection = project(tensor.factors, tensor.sharding, rule.factors);
    };
    for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
      add("operand #" + Twine(i), type, rule.operands[i]);
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      add("result #" + Twine(i), type, rule.results[i]);
  }

  LogicalResult verify() {
    for (const Tensor &tensor : tensors)
      if (failed(verifyDims(tensor)))
        return failure();
    for (int f = 0, e = int(rule.factors.size()); f < e; ++f)
      if (failed(verifyFactor(f)))
        return failure();
    return verifyPartial();
  }

private:
  struct Tensor {
    std::string name;
    RankedTensorType type;
    const TensorFactors &factors;
    Sharding sharding;
    TensorProjection projection;
  };

  std::string text(ArrayRef<AxisRef> axes) const {
    std::string result;
    for (const AxisRef &axis : axes)
      result += (result.empty() ? "" : ", ") + toString(axis, mesh);
    return "{" + result + "}";
  }

  /// Which dimension of `tensor` holds factor `f`.
  static int dimOf(const Tensor &tensor, int f) {
    for (auto [i, dim] : llvm::enumerate(tensor.factors.dims))
      if (llvm::is_contained(dim, f))
        return int(i);
    return -1;
  }

  /// A dimension's axes can be told apart by factor.
  LogicalResult verifyDims(const Tensor &tensor) {
    SmallVector<int64_t> shape = globalShape(tensor.type);
    for (auto [i, dim] : llvm::enumerate(tensor.factors.dims)) {
      const AxisList &axes = tensor.sharding.dims[i].axes;
      if (axes.empty())
        continue;
      if (dim.empty())
        return op->emitOpError() << tensor.name << " dimension " << i << " is sharded over " << text(axes)
                                 << ", but the op needs it whole";
      if (dim.size() < 2)
        continue;
      // Several factors share the dimension: pieces must be pieces of factors, without padding inside.
      for (int f : dim) {
        const FactorSharding &factor = tensor.projection.factors[f];
        if (!factor.overflow.empty() || rule.factors[f].size % axesSize(factor.axes) != 0)
          return op->emitOpError() << tensor.name << " dimension " << i << " of size " << shape[i]
                                   << " is made of several"
                                   << " factors; sharding it over " << text(axes)
                                   << " cuts through one of size " << rule.factors[f].size;
      }
    }
    return success();
  }

  LogicalResult verifyFactor(int f) {
    const Tensor *first = nullptr;
    for (const Tensor &tensor : tensors) {
      const FactorSharding &here = tensor.projection.factors[f];
      if (!here.present)
        continue;
      FactorKind kind = rule.factors[f].kind;
      bool whole = kind == FactorKind::NeedReplication ||
                   (kind == FactorKind::Permutation && rule.factors[f].size % axesSize(here.axes) != 0);
      if (!here.axes.empty() && whole)
        return op->emitOpError() << tensor.name << " dimension " << dimOf(tensor, f) << " is sharded over "
                                 << text(here.axes) << ", but the op needs it whole";
      if (!first) {
        first = &tensor;
        continue;
      }
      const FactorSharding &there = first->projection.factors[f];
      if (here.axes != there.axes)
        return op->emitOpError() << first->name << " dimension " << dimOf(*first, f) << " is sharded over "
                                 << text(there.axes) << ", but " << tensor.name << " dimension "
                                 << dimOf(tensor, f) << ", the same factor of the op, over "
                                 << text(here.axes);
    }
    return success();
  }

  /// Pieces of axes such that every list of `lists` is a union of them.
  static AxisList atoms(ArrayRef<AxisList> lists) {
    std::map<int, SmallVector<int64_t>> cuts;
    for (const AxisList &list : lists)
      for (const AxisRef &axis : list) {
        cuts[axis.axis].push_back(axis.pre);
        cuts[axis.axis].push_back(axis.pre * axis.size);
      }
    AxisList result;
    for (auto &[axis, points] : cuts) {
      llvm::sort(points);
      points.erase(llvm::unique(points), points.end());
      for (size_t i = 1; i < points.size(); ++i)
        result.push_back({axis, points[i - 1], points[i] / points[i - 1]});
    }
    return result;
  }

  static bool contains(const AxisList &list, const AxisRef &atom) {
    return llvm::any_of(list, [&](const AxisRef &axis) {
      return axis.axis == atom.axis && axis.pre <= atom.pre && atom.pre * atom.size <= axis.pre * axis.size;
    });
  }

  LogicalResult verifyPartial() {
    AxisList expected;
    PartialKind kind = PartialKind::None;
    auto combine = [&](PartialKind more) {
      bool sound = kind == PartialKind::None || kind == more;
      kind = more;
      return sound ? success()
                   : LogicalResult(op->emitOpError(
                         "makes a partial sum and a partial maximum at once; reduce one before"));
    };
    // Sharded reductions.
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != FactorKind::Reduction)
        continue;
      for (const Tensor &tensor : tensors) {
        const FactorSharding &here = tensor.projection.factors[f];
        if (!here.present || here.axes.empty())
          continue;
        expected.append(here.axes.begin(), here.axes.end());
        if (failed(combine(factor.combine)))
          return failure();
        break;
      }
    }
    // Partial operands that pass through.
    size_t numOperands = op->getNumOperands();
    SmallVector<AxisList> lists;
    for (const Tensor &tensor : tensors)
      lists.push_back(tensor.sharding.partial);
    for (const AxisRef &atom : atoms(ArrayRef(lists).take_front(numOperands))) {
      SmallVector<int, 2> who;
      PartialKind atomKind = PartialKind::None;
      for (size_t i = 0; i < numOperands; ++i) {
        if (!contains(lists[i], atom))
          continue;
        who.push_back(int(i));
        if (atomKind != PartialKind::None && atomKind != tensors[i].sharding.partialKind)
          return op->emitOpError() << "mixes a partial sum and a partial maximum over " << text(atom);
        atomKind = tensors[i].sharding.partialKind;
      }
      const auto &groups = atomKind == PartialKind::Sum ? rule.linear : rule.maxLinear;
      if (!llvm::is_contained(groups, who))
        return op->emitOpError() << tensors[who.front()].name << " is a partial "
                                 << (atomKind == PartialKind::Sum ? "sum" : "max") << " over " << text(atom)
                                 << " and must be reduced before: the op is not "
                                 << (atomKind == PartialKind::Sum ? "linear" : "monotone") << " in "
                                 << (who.size() > 1 ? "these operands" : "this operand alone");
      if (contains(expected, atom))
        return op->emitOpError() << tensors[who.front()].name << " is partial over " << text(atom)
                                 << ", over which the op itself reduces";
      expected.push_back(atom);
      if (failed(combine(atomKind)))
        return failure();
    }
    llvm::sort(expected);
    mergeAdjacent(expected);
    for (const Tensor &tensor : ArrayRef(tensors).drop_front(numOperands)) {
      // Neutral elements are a sum (or maximum) of neutral elements.
      if (rule.neutral != PartialKind::None && rule.neutral == tensor.sharding.partialKind)
        continue;
      if (tensor.sharding.partial != expected)
        return op->emitOpError()
               << tensor.name << " must be partial over " << text(expected)
               << " (what the op reduces over and what its operands are partial over), its type says "
               << text(tensor.sharding.partial);
      if (tensor.sharding.partialKind != kind)
        return op->emitOpError() << tensor.name << " must be a partial "
                                 << (kind == PartialKind::Sum ? "sum" : "max");
    }
    return success();
  }

  ShardingRuleOpInterface op;
  const Mesh &mesh;
  ShardingRule rule;
  std::vector<Tensor> tensors;
};
} // namespace

LogicalResult tessera::dist::verifyOpSharding(ShardingRuleOpInterface op) {
  Type with, without;
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  bool anyLocal = false, anyGlobal = false;
  for (auto [i, type] : llvm::enumerate(types)) {
    bool isOperand = i < op->getNumOperands();
    std::string name =
        (isOperand ? "operand #" : "result #") + std::to_string(isOperand ? i : i - op->getNumOperands());
    if (!isa<RankedTensorType>(type))
      continue;
    ShardingAttr sharding = getShardingAttr(type);
    if (!sharding) {
      if (Attribute other = cast<RankedTensorType>(type).getEncoding())
        return op->emitOpError() << name << " has encoding " << other << ", which is no #dist.sharding";
      without = type;
      continue;
    }
    if (with && getShardingAttr(with).getMesh() != sharding.getMesh())
      return op->emitOpError() << "has tensors on two meshes, " << getShardingAttr(with).getMesh() << " and "
                               << sharding.getMesh();
    with = type;
    if (cast<RankedTensorType>(type).getRank() > 0)
      (sharding.isLocal() ? anyLocal : anyGlobal) = true;
    if (failed(verifyShardedType(op, type, name)))
      return failure();
  }
  if (!with)
    return success();
  if (without)
    return op->emitOpError() << "has a tensor without a sharding, " << without << ", beside one with: "
                             << "on rungs sharded and spmd every tensor type has one";
  if (anyLocal && anyGlobal)
    return op->emitOpError()
           << "mixes local types (rung spmd, with 'global' sizes) and global ones (rung sharded)";
  Mesh mesh = lookupMesh(op, getShardingAttr(with).getMesh()).getMesh().toMesh();
  return Agreement(op, mesh, anyLocal).verify();
}

LogicalResult tessera::dist::verifyShardingAgrees(Operation *op) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  return rule ? verifyOpSharding(rule) : success();
}
