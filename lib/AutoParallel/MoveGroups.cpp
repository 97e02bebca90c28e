//===- MoveGroups.cpp - Neighbouring ops and their dimensions -------------===//
#include "MoveGroups.h"

#include "AxisLists.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tessera;

static bool reduces(const ProgramOp &op) {
  return llvm::any_of(op.rule.factors,
                      [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
}

template <typename Visit> static void forEachTensor(const ProgramOp &op, Visit visit) {
  for (auto [value, factors] : llvm::zip(op.operands, op.rule.operands))
    visit(value, factors);
  for (auto [value, factors] : llvm::zip(op.results, op.rule.results))
    visit(value, factors);
}

/// Ops that `op` reaches through values that ops make; not through those that reduce, unless `all`.
static llvm::SmallVector<int, 16> reached(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                                          int op, bool all) {
  std::set<int> seen = {op};
  llvm::SmallVector<int, 16> next = {op};
  while (!next.empty()) {
    int now = next.pop_back_val();
    if (now != op && !all && reduces(program.ops[size_t(now)]))
      continue;
    auto visit = [&](int other) {
      if (seen.insert(other).second)
        next.push_back(other);
    };
    forEachTensor(program.ops[size_t(now)], [&](int value, const TensorFactors &) {
      const ValueEnds &valueEnds = ends[size_t(value)];
      if (valueEnds.producer < 0)
        return;
      visit(valueEnds.producer);
      for (auto &[reader, operand] : valueEnds.readers)
        visit(reader);
    });
  }
  return llvm::SmallVector<int, 16>(seen.begin(), seen.end());
}

std::vector<llvm::SmallVector<int, 16>> tessera::groupsAround(const PlacementProgram &program,
                                                              const std::vector<ValueEnds> &ends, int op) {
  std::vector<llvm::SmallVector<int, 16>> groups = {{op}};
  for (bool all : {false, true}) {
    auto group = reached(program, ends, op, all);
    if (group != groups.back())
      groups.push_back(std::move(group));
  }
  return groups;
}

namespace {
/// Which factors of a group's ops are one dimension.
class Dimensions {
public:
  Dimensions(const PlacementProgram &program, llvm::ArrayRef<int> ops) : program(program), ops(ops) {
    for (int op : ops) {
      first.push_back(int(parents.size()));
      for (size_t f = 0; f < program.ops[size_t(op)].rule.factors.size(); ++f) {
        parents.push_back(int(parents.size()));
        members.push_back({op});
      }
    }
    // The major factor of a value's dimension is the same for all who make or read the value.
    std::map<std::pair<int, int>, int> nodes; // of value and dimension
    for (auto [i, op] : llvm::enumerate(ops))
      forEachTensor(program.ops[size_t(op)], [&, i = i](int value, const TensorFactors &factors) {
        for (auto [d, dim] : llvm::enumerate(factors.dims))
          if (!dim.empty() && mayShard(int(i), dim.front())) {
            int node = first[i] + dim.front();
            auto [it, made] = nodes.try_emplace({value, int(d)}, node);
            if (!made)
              join(it->second, node);
          }
      });
  }

  void number(MoveGroup &group) {
    std::map<int, int> numbers; // of roots
    for (auto [i, op] : llvm::enumerate(ops)) {
      auto &list = group.dimensions.emplace_back();
      for (auto [f, factor] : llvm::enumerate(program.ops[size_t(op)].rule.factors)) {
        if (!mayShard(int(i), int(f))) {
          list.push_back(-1);
          continue;
        }
        auto [it, made] = numbers.try_emplace(find(first[i] + int(f)), int(numbers.size()));
        if (made)
          group.sizes.push_back(factor.size);
        list.push_back(it->second);
        int64_t &size = group.sizes[size_t(it->second)];
        size = std::min(size, factor.size);
      }
    }
  }

private:
  bool mayShard(int i, int f) const {
    const Factor &factor = program.ops[size_t(ops[size_t(i)])].rule.factors[size_t(f)];
    return factor.kind != FactorKind::NeedReplication && factor.size > 1;
  }
  int find(int node) const {
    while (parents[size_t(node)] != node)
      node = parents[size_t(node)];
    return node;
  }
  /// Unless two factors of one op became one: they could not both have its axes.
  void join(int a, int b) {
    a = find(a), b = find(b);
    if (a == b ||
        llvm::any_of(members[size_t(a)], [&](int op) { return llvm::is_contained(members[size_t(b)], op); }))
      return;
    parents[size_t(std::max(a, b))] = std::min(a, b);
    auto &to = members[size_t(std::min(a, b))], &from = members[size_t(std::max(a, b))];
    to.append(from.begin(), from.end());
  }

  const PlacementProgram &program;
  llvm::ArrayRef<int> ops;
  llvm::SmallVector<int, 16> first; ///< of each op: the node of its first factor
  llvm::SmallVector<int, 64> parents;
  std::vector<llvm::SmallVector<int, 8>> members; ///< of each root: ops
};
} // namespace

MoveGroup tessera::makeGroup(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                             llvm::ArrayRef<int> ops, llvm::ArrayRef<const PlacementDecision *> chosen) {
  MoveGroup group;
  group.ops.assign(ops.begin(), ops.end());
  Dimensions(program, ops).number(group);
  AxisList axes;
  auto take = [&](const Sharding &sharding) {
    for (const DimSharding &dim : sharding.dims)
      axes.append(dim.axes.begin(), dim.axes.end());
  };
  auto visit = [&](int op, std::set<int> &values) {
    forEachTensor(program.ops[size_t(op)], [&](int value, const TensorFactors &) {
      if (!values.insert(value).second)
        return;
      take(program.values[size_t(value)].sharding);
      for (const Sharding *sharding : ends[size_t(value)].outside)
        take(*sharding);
    });
    for (const AxisList &list : chosen[size_t(op)]->factorAxes)
      axes.append(list.begin(), list.end());
  };
  std::set<int> values, around;
  for (int op : ops)
    visit(op, values);
  for (int op : reached(program, ends, ops.front(), /*all=*/true))
    visit(op, around);
  group.values.assign(values.begin(), values.end());
  group.axes = cutAlike(axes);
  return group;
}
