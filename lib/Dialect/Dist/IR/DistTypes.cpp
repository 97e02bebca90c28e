//===- DistTypes.cpp - Sharded tensor types and axis lists ----------------===//
#include "tessera/Dialect/Dist/IR/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

ShardingAttr tessera::dist::getShardingAttr(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<ShardingAttr>(tensor.getEncoding()) : ShardingAttr();
}

RankedTensorType tessera::dist::withSharding(RankedTensorType type, ShardingAttr sharding) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), sharding);
}

SmallVector<int64_t> tessera::dist::globalShape(RankedTensorType type) {
  if (ShardingAttr sharding = getShardingAttr(type); sharding && sharding.isLocal())
    return llvm::to_vector(sharding.getGlobal().asArrayRef());
  return llvm::to_vector(type.getShape());
}

RankedTensorType tessera::dist::localType(RankedTensorType type, const Mesh &mesh) {
  ShardingAttr attr = getShardingAttr(type);
  if (!attr || attr.isLocal())
    return type;
  Sharding sharding = attr.toSharding(mesh);
  auto local =
      ShardingAttr::get(type.getContext(), attr.getMesh().getValue(), sharding, mesh, type.getShape());
  return RankedTensorType::get(sharding.localShape(type.getShape()), type.getElementType(), local);
}

RankedTensorType tessera::dist::globalType(RankedTensorType type) {
  return RankedTensorType::get(globalShape(type), type.getElementType());
}

MeshOp tessera::dist::lookupMesh(Operation *from, FlatSymbolRefAttr symbol) {
  if (auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol))
    return mesh;
  from->emitOpError() << "refers to mesh " << symbol << ", but there is no such dist.mesh";
  return {};
}

MeshOp tessera::dist::getMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

bool tessera::dist::dropMinorAxes(AxisList &axes, ArrayRef<AxisRef> suffix) {
  AxisList rest = axes, wanted(suffix.begin(), suffix.end());
  while (!wanted.empty()) {
    if (rest.empty())
      return false;
    AxisRef &have = rest.back(), &want = wanted.back();
    if (have.axis != want.axis || have.pre * have.size != want.pre * want.size)
      return false;
    if (have.pre == want.pre) {
      rest.pop_back();
      wanted.pop_back();
    } else if (want.pre % have.pre == 0) { // the wanted digit is the minor part of what stands there
      have.size = want.pre / have.pre;
      wanted.pop_back();
    } else if (have.pre % want.pre == 0) { // the other way round: the rest of it must come before
      want.size = have.pre / want.pre;
      rest.pop_back();
    } else {
      return false;
    }
  }
  axes = rest;
  return true;
}

void tessera::dist::appendMinorAxes(AxisList &axes, ArrayRef<AxisRef> suffix) {
  axes.append(suffix.begin(), suffix.end());
  mergeAdjacent(axes);
}

bool tessera::dist::removeAxes(AxisList &axes, ArrayRef<AxisRef> taken) {
  AxisList rest = axes;
  for (const AxisRef &axis : taken) {
    auto *it = llvm::find_if(rest, [&](const AxisRef &have) {
      return have.axis == axis.axis && axis.pre % have.pre == 0 &&
             (have.pre * have.size) % (axis.pre * axis.size) == 0;
    });
    if (it == rest.end())
      return false;
    AxisRef before = {it->axis, it->pre, axis.pre / it->pre};
    AxisRef after = {it->axis, axis.pre * axis.size, it->pre * it->size / (axis.pre * axis.size)};
    rest.erase(it);
    for (const AxisRef &piece : {before, after})
      if (piece.size > 1)
        rest.push_back(piece);
    llvm::sort(rest);
  }
  axes = rest;
  return true;
}
