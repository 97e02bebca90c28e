//===- ReshardReplay.cpp - Plans executed element by element --------------===//
#include "tessera/AutoParallel/ReshardPlanner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tessera;

namespace {

/// Indices of one dimension that a device at `coordinates` holds.
std::vector<int64_t> indicesOf(llvm::ArrayRef<AxisRef> dim, int64_t n, llvm::ArrayRef<int64_t> coordinates,
                               const Mesh &mesh) {
  int64_t product = axesSize(dim);
  bool plain = llvm::all_of(dim, [](const AxisRef &axis) { return axis.axis >= 0; });
  std::vector<int64_t> indices;
  if (plain) {
    int64_t shard = 0, extent = (n + product - 1) / product;
    for (const AxisRef &axis : dim)
      shard = shard * axis.size + axis.digit(coordinates[axis.axis], mesh);
    for (int64_t i = shard * extent; i < std::min(n, (shard + 1) * extent); ++i)
      indices.push_back(i);
    return indices;
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t stride = n;
    bool mine = true;
    for (const AxisRef &axis : dim) {
      stride /= axis.size;
      mine &= axis.axis < 0 || i / stride % axis.size == axis.digit(coordinates[axis.axis], mesh);
    }
    if (mine)
      indices.push_back(i);
  }
  return indices;
}

/// All elements (row-major numbers) that a device holds.
std::vector<int64_t> elementsOf(const StridedSharding &sharding, llvm::ArrayRef<int64_t> shape,
                                int64_t device, const Mesh &mesh) {
  auto coordinates = mesh.coordinates(device);
  std::vector<int64_t> elements = {0};
  for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
    auto indices = indicesOf(dim, shape[d], coordinates, mesh);
    std::vector<int64_t> next;
    next.reserve(elements.size() * indices.size());
    for (int64_t element : elements)
      for (int64_t index : indices)
        next.push_back(element * shape[d] + index);
    elements = std::move(next);
  }
  return elements;
}

/// Elements of one device's buffer, padding included.
double localSize(const StridedSharding &sharding, llvm::ArrayRef<int64_t> shape) {
  double size = 1;
  for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
    int64_t shards = 1;
    for (const AxisRef &axis : dim)
      shards *= axis.axis < 0 ? 1 : axis.size;
    size *= double((shape[d] + shards - 1) / shards);
  }
  return size;
}

using Values = std::map<int64_t, int64_t>; ///< element -> value

/// What element `element` of rank `digit` of a partial value contributes.
int64_t contribution(int64_t element, int64_t digit) {
  return (element + 1) * 31 + digit * digit * 7 + digit;
}

class Replay {
public:
  Replay(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const StridedSharding &from)
      : mesh(mesh), shape(shape), devices(mesh.numDevices()), current(from), originalPartial(from.partial) {
    for (int64_t device = 0; device < devices; ++device)
      held.push_back(valuesOf(from, device));
  }

  std::string step(const ReshardStep &step) {
    std::vector<Values> next(devices);
    double most = 0;
    AxisList axes;
    for (const AxisMove &move : step.moves)
      axes.append(move.axes.begin(), move.axes.end());
    auto sources = step.kind == StepKind::CollectivePermute ? permuteSources(mesh, current, step.layout)
                                                            : std::vector<int64_t>();
    if (!sources.empty()) {
      auto sorted = sources;
      llvm::sort(sorted);
      for (int64_t device = 0; device < devices; ++device)
        if (sorted[device] != device)
          return "not a permutation of devices";
    }
    double group = double(axesSize(axes));
    for (int64_t device = 0; device < devices; ++device) {
      auto wanted = elementsOf(step.layout, shape, device, mesh);
      if (step.kind == StepKind::CollectivePermute) {
        const Values &source = held[sources[device]];
        if (sources[device] != device)
          most = std::max(most, localSize(current, shape));
        for (int64_t element : wanted)
          if (!take(source, element, next[device]))
            return "a device lacks an element";
        if (wanted.size() != source.size())
          return "a device gets more than its piece";
        continue;
      }
      if (step.kind == StepKind::GroupedSend) {
        double received = 0;
        for (int64_t element : wanted) {
          if (take(held[device], element, next[device]))
            continue;
          bool found = false;
          for (int64_t other : groupOf(mesh, axes, device))
            if ((found = take(held[other], element, next[device])))
              break;
          if (!found)
            return "a device lacks an element";
          ++received;
        }
        most = std::max(most, received);
        continue;
      }
      auto members = groupOf(mesh, axes, device);
      for (int64_t element : wanted) {
        bool found = false;
        if (step.kind == StepKind::AllSlice || step.kind == StepKind::Contribute) {
          found = take(held[device], element, next[device]);
        } else if (step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter) {
          int64_t sum = 0;
          found = true;
          for (int64_t member : members) {
            auto it = held[member].find(element);
            found &= it != held[member].end();
            sum += found ? it->second : 0;
          }
          next[device][element] = sum;
        } else {
          for (int64_t member : members)
            if ((found = take(held[member], element, next[device])))
              break;
        }
        if (!found)
          return "a device lacks an element";
      }
      double before = localSize(current, shape), after = localSize(step.layout, shape);
      double received = 0;
      if (step.kind == StepKind::AllReduce)
        received = 2 * before * (group - 1) / group;
      else if (step.kind == StepKind::ReduceScatter)
        received = after * (group - 1);
      else if (step.kind == StepKind::AllGather)
        received = after - before;
      else if (step.kind == StepKind::AllToAll) {
        int64_t piece = -1;
        for (int64_t member : members) {
          int64_t shared = 0;
          for (int64_t element : wanted)
            shared += held[member].count(element);
          bool whole =
              int64_t(wanted.size()) == int64_t(after) && int64_t(held[member].size()) == int64_t(before);
          if (whole && piece >= 0 && piece != shared)
            return "an all_to_all sends unequal pieces";
          if (whole)
            piece = shared;
          if (member != device)
            received += double(shared);
        }
      }
      most = std::max(most, received);
    }
    if (step.kind == StepKind::Contribute)
      contribute(axes, step.result.partialKind == PartialKind::Sum, next);
    if (most > step.received * (1 + 1e-9) + 1e-6)
      return "a device receives " + std::to_string(most) + " elements, the plan says " +
             std::to_string(step.received);
    held = std::move(next);
    current = step.layout;
    for (int64_t device = 0; device < devices; ++device)
      if (held[device] != valuesOf(current, device))
        return "wrong values";
    return "";
  }

private:
  static bool take(const Values &from, int64_t element, Values &into) {
    auto it = from.find(element);
    if (it == from.end())
      return false;
    into[element] = it->second;
    return true;
  }

  /// One of each group over `axes` keeps a sum, the others hold nothing of it; a maximum may stay where it
  /// is.
  void contribute(const AxisList &axes, bool isSum, std::vector<Values> &values) {
    contributed.append(axes.begin(), axes.end());
    contributedSum = isSum;
    for (int64_t device = 0; isSum && device < devices; ++device)
      if (groupIndex(mesh, axes, device) != 0)
        for (auto &[element, value] : values[device])
          value = 0;
  }

  /// What `device` must hold in `sharding`: the contributions of all ranks over which the source was partial
  /// and this is not any more.
  Values valuesOf(const StridedSharding &sharding, int64_t device) const {
    Values values;
    auto elements = elementsOf(sharding, shape, device, mesh);
    // Ranks whose contributions are in: those that agree with the device on the digits still partial.
    auto ranks = groupOf(mesh, originalPartial, device);
    AxisList still = axesWithout(sharding.partial, contributed);
    int64_t mine = groupIndex(mesh, still, device);
    bool idle = contributedSum && groupIndex(mesh, contributed, device) != 0;
    for (int64_t element : elements) {
      int64_t sum = 0;
      for (int64_t rank : ranks)
        if (!idle && groupIndex(mesh, still, rank) == mine)
          sum += contribution(element, groupIndex(mesh, originalPartial, rank));
      values[element] = sum;
    }
    return values;
  }

  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  int64_t devices;
  StridedSharding current;
  AxisList originalPartial, contributed;
  bool contributedSum = false;
  std::vector<Values> held;
};

} // namespace

std::string tessera::replayPlan(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                const Sharding &to, const ReshardPlan &plan) {
  Replay replay(mesh, shape, toStridedSharding(from));
  for (auto [i, step] : llvm::enumerate(plan.steps))
    if (std::string error = replay.step(step); !error.empty())
      return "step " + std::to_string(i + 1) + " (" + toString(step.kind) + " " +
             toString(step.layout, mesh) + "): " + error;
  if (plan.steps.empty() ? !from.samePlacement(to) : !plan.steps.back().result.samePlacement(to))
    return "the last state is not the target";
  return "";
}

std::vector<int64_t> tessera::permuteSources(const Mesh &mesh, const Sharding &from, const Sharding &to) {
  return permuteSources(mesh, toStridedSharding(from), toStridedSharding(to));
}

std::vector<int64_t> tessera::permuteSources(const Mesh &mesh, const StridedSharding &from,
                                             const StridedSharding &to) {
  // Cut every axis where either sharding cuts it.
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 4> cuts(mesh.axes.size());
  auto cut = [&](llvm::ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes)
      if (axis.axis >= 0) {
        cuts[axis.axis].push_back(axis.pre);
        cuts[axis.axis].push_back(axis.pre * axis.size);
      }
  };
  for (const StridedSharding *sharding : {&from, &to})
    for (const auto &dim : sharding->dims)
      cut(dim);
  llvm::SmallVector<AxisRef, 12> digits;
  for (auto [i, axis] : llvm::enumerate(mesh.axes)) {
    cuts[i].push_back(1);
    cuts[i].push_back(axis.size);
    llvm::sort(cuts[i]);
    int64_t pre = 1;
    for (int64_t at : cuts[i]) {
      if (at > pre)
        digits.push_back({int(i), pre, at / pre});
      pre = at;
    }
  }
  auto uses = [](const StridedSharding &sharding, const AxisRef &digit) {
    for (const auto &dim : sharding.dims)
      for (const AxisRef &axis : dim)
        if (axis.axis == digit.axis && axis.overlaps(digit))
          return true;
    return false;
  };
  // Free digits: of the source's device those that do not say which piece it holds; of the receiver's those
  // that do not say which it wants. Shared ones are equal; the others count through, so that every device
  // sends to one.
  AxisList freeBoth, freeFrom, freeTo;
  for (const AxisRef &digit : digits) {
    bool inFrom = uses(from, digit), inTo = uses(to, digit);
    if (!inFrom && !inTo)
      freeBoth.push_back(digit);
    else if (!inFrom)
      freeFrom.push_back(digit);
    else if (!inTo)
      freeTo.push_back(digit);
  }
  auto pieceOf = [&](const StridedSharding &sharding, llvm::ArrayRef<int64_t> coordinates) {
    llvm::SmallVector<int64_t, 8> piece;
    for (const auto &dim : sharding.dims) {
      // A run of split digits counts as one: how axes share it does not matter.
      int64_t run = 0;
      for (const AxisRef &axis : dim) {
        if (axis.axis >= 0) {
          run = run * axis.size + axis.digit(coordinates[axis.axis], mesh);
          continue;
        }
        piece.push_back(run);
        run = 0;
      }
      piece.push_back(run);
    }
    for (const AxisRef &axis : freeBoth)
      piece.push_back(axis.digit(coordinates[axis.axis], mesh));
    return piece;
  };
  // (piece, free digits as a number) -> device that has it.
  std::map<std::pair<llvm::SmallVector<int64_t, 8>, int64_t>, int64_t> holders;
  int64_t devices = mesh.numDevices();
  for (int64_t device = 0; device < devices; ++device)
    holders[{pieceOf(from, mesh.coordinates(device)), groupIndex(mesh, freeFrom, device)}] = device;
  std::vector<int64_t> sources(devices);
  for (int64_t device = 0; device < devices; ++device) {
    auto it = holders.find({pieceOf(to, mesh.coordinates(device)), groupIndex(mesh, freeTo, device)});
    sources[device] = it == holders.end() ? -1 : it->second;
  }
  return sources;
}
