//===- Machine.cpp - What a cluster can do, and what steps cost -----------===//
#include "tessera/AutoParallel/Machine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tessera;

llvm::StringRef tessera::toString(ComputeType type) {
  static constexpr const char *names[] = {"f32", "bf16", "f16"};
  return names[size_t(type)];
}

int64_t Machine::neighboursOnNode(const Mesh &mesh, int index) const {
  const int64_t size = mesh.axes[size_t(index)].size;
  if (auto said = within.find(mesh.axes[size_t(index)].name); said != within.end())
    return std::gcd(said->second, size);
  if (ranksPerNode == 0 || mesh.numDevices() <= ranksPerNode)
    return size;
  int64_t stride = 1;
  for (const MeshAxis &minor : llvm::drop_begin(mesh.axes, size_t(index) + 1))
    stride *= minor.size;
  return ranksPerNode % stride ? 1 : std::gcd(size, ranksPerNode / stride);
}

void Machine::lieOn(const Mesh &mesh) {
  if (ranksPerNode == 0)
    return;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    within.try_emplace(mesh.axes[i].name, neighboursOnNode(mesh, int(i)));
}

std::pair<AxisRef, AxisRef> Machine::cutAtNodes(const Mesh &mesh, const AxisRef &axis) const {
  const MeshAxis &whole = mesh.axes[size_t(axis.axis)];
  // Neighbours along the digit are so many ranks of the axis apart.
  const int64_t apart = whole.size / (axis.pre * axis.size), onNode = neighboursOnNode(mesh, axis.axis);
  int64_t minor = onNode % apart ? 1 : std::gcd(axis.size, onNode / apart);
  if (axes.count(whole.name))
    minor = axis.size;
  return {{axis.axis, axis.pre * (axis.size / minor), minor}, {axis.axis, axis.pre, axis.size / minor}};
}

bool Machine::crossesNodes(const Mesh &mesh, const AxisRef &axis) const {
  return cutAtNodes(mesh, axis).second.size > 1;
}

const Link &Machine::linkOf(const Mesh &mesh, const AxisRef &axis) const {
  if (auto own = axes.find(mesh.axes[size_t(axis.axis)].name); own != axes.end())
    return own->second;
  return crossesNodes(mesh, axis) ? betweenNodes : link;
}

std::string tessera::describeMachine(const Machine &machine, const Mesh &mesh) {
  std::string crossing;
  int count = 0;
  for (int i = 0; i < int(mesh.axes.size()); ++i)
    if (machine.crossesNodes(mesh, wholeAxis(mesh, i)))
      crossing += (count++ ? ", " : "") + mesh.axes[size_t(i)].name;
  if (count == 0)
    return machine.name;
  return machine.name + ", of which " + crossing + (count > 1 ? " go" : " goes") + " between nodes";
}

namespace {
/// The slower of links in latency and in bandwidth.
class SlowestLink {
public:
  void use(const Link &link) {
    slowest = isUsed
                  ? Link{std::max(slowest.latency, link.latency), std::min(slowest.bandwidth, link.bandwidth)}
                  : link;
    isUsed = true;
  }
  Link slowest;
  bool isUsed = false;
};

double rounds(double group) { return std::ceil(std::log2(group)); }
} // namespace

double tessera::collectiveTime(const Machine &machine, const Mesh &mesh, StepKind kind,
                               llvm::ArrayRef<AxisRef> axes, double bytes) {
  SlowestLink all, near;
  double group = 1, onNode = 1;
  for (const AxisRef &axis : axes) {
    all.use(machine.linkOf(mesh, axis));
    group *= double(axis.size);
    if (AxisRef minor = machine.cutAtNodes(mesh, axis).first; minor.size > 1) {
      near.use(machine.linkOf(mesh, minor));
      onNode *= double(minor.size);
    }
  }
  if (!all.isUsed) {
    all.use(machine.link);
    group = 2;
  }
  const double latency = all.slowest.latency * rounds(group);
  if (kind != StepKind::AllToAll || onNode == group || onNode == 1)
    return latency + bytes / all.slowest.bandwidth;
  const double nearBytes = bytes * (onNode - 1) / (group - 1);
  return latency + nearBytes / near.slowest.bandwidth + (bytes - nearBytes) / all.slowest.bandwidth;
}

double tessera::stepTime(const Machine &machine, const Mesh &mesh, const ReshardStep &step,
                         double elementBytes) {
  if (step.received <= 0)
    return step.written * elementBytes / machine.memoryBandwidth;
  // Of plans that take alike the one with fewer steps: each is an op of its own, with an element to write if
  // nothing else.
  const double written = elementBytes / machine.memoryBandwidth;
  AxisList axes;
  for (const AxisMove &move : step.moves)
    axes.append(move.axes.begin(), move.axes.end());
  if (!axes.empty() && step.kind != StepKind::GroupedSend)
    return collectiveTime(machine, mesh, step.kind, axes, step.received * elementBytes) + written;
  // Whole pieces go anywhere: every axis of the state may be crossed.
  SlowestLink used;
  for (const AxisRef &axis : axes.empty() ? step.result.usedAxes() : axes)
    used.use(machine.linkOf(mesh, axis));
  const Link link = used.isUsed ? used.slowest : machine.link;
  if (step.kind == StepKind::GroupedSend)
    return link.latency * step.messages +
           kSendPenalty * std::max(step.received, step.sent) * elementBytes / link.bandwidth + written;
  return link.latency + step.received * elementBytes / link.bandwidth + written;
}

double tessera::planTime(const Machine &machine, const Mesh &mesh, const ReshardPlan &plan,
                         double elementBytes) {
  double time = 0;
  for (const ReshardStep &step : plan.steps)
    time += stepTime(machine, mesh, step, elementBytes);
  return time;
}

double tessera::workTime(const Machine &machine, ComputeType type, double flops, double bytes,
                         double fraction) {
  return fraction * (flops / machine.flopsOf(type) + bytes / machine.memoryBandwidth);
}
