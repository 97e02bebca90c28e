//===- ReplicationRemarks.cpp - What lies whole, and what that costs ------===//
#include "Annotate/ReplicationRemarks.h"
#include "Explain.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Smaller parts of the largest weight or state are not worth a remark.
static constexpr double kLargePart = 1.0 / 16;

/// What a rank holds of it, padding too.
static double heldBytes(const ShardableValue &subject, const Sharding &sharding) {
  double bytes = subject.bytes;
  for (auto [size, local] : llvm::zip(subject.shape, sharding.localShape(subject.shape)))
    bytes *= size > 0 ? double(local) / double(size) : 1;
  return bytes;
}
static std::string costText(double bytes, int64_t ranks) {
  return bytes > 0 ? llvm::formatv("; a rank holds {0:F0} bytes, spread over it they would be {1:F0}", bytes,
                                   bytes / double(ranks))
                         .str()
                   : std::string();
}

void ReplicationRemarks::left(const ShardableValue &subject, const Sharding &sharding,
                              const ReplicatedDim &one) {
  const auto &[d, axes, why] = one;
  int64_t ranks = axesSize(axes);
  std::string value = subject.name.empty() ? "a tensor" : subject.name.str();
  if (ranks == 1 ||
      !told.insert(value + " " + subject.dims[d].str() + " " + axesText(axes, mesh) + why).second)
    return;
  bool elsewhere =
      llvm::any_of(axes, [&](const AxisRef &axis) { return overlapsAny(axis, sharding.usedAxes()); });
  explainMissed(subject.loc, "left-whole",
                llvm::formatv("{0}: {1} of size {2} does not lie over {3}: {4}{5}", value, subject.dims[d],
                              subject.shape[d], axesText(axes, mesh), why,
                              elsewhere ? "" : costText(heldBytes(subject, sharding), ranks)));
}

void ReplicationRemarks::replicated(const ShardableValue &subject, const Sharding &sharding, double largest) {
  if (!subject.isHeld || subject.bytes < kLargePart * largest)
    return;
  for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
    AxisRef axis = wholeAxis(mesh, int(i));
    if (axis.size == 1 || overlapsAny(axis, sharding.usedAxes()) ||
        !told.insert(subject.name.str() + " along " + meshAxis.name).second)
      continue;
    const StandardAxis *standard = findStandardAxis(meshAxis.name);
    ArrayRef<StringRef> means = standard
                                    ? (subject.isWeight ? standard->weightDims : standard->activationDims)
                                    : ArrayRef<StringRef>();
    std::string why = "no item gives it to " + llvm::join(subject.dims, ", ");
    if (standard)
      why = meshAxis.name + " means " + (means.empty() ? "no dimension" : llvm::join(means, ", ")) + " of " +
            (subject.isWeight ? "weights" : "states and activations") + ", and " + why;
    explainMissed(subject.loc, "replicated",
                  llvm::formatv("{0} [{1}] is the same on all ranks along {2}: {3}{4}", subject.name,
                                llvm::join(subject.dims, ", "), meshAxis.name, why,
                                costText(heldBytes(subject, sharding), axis.size)));
  }
}
