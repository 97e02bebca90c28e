// Random ops run on all ranks with the sharding that placement chose: every rank computes from what it holds;
// combined over the result's partial axes that must be the op's result. A dropped, doubled or misplaced sum
// fails.
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/ProgramPlacement.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace tessera;

namespace {

/// result[r] = sum over reduction factors of f(operands): product (linear in each), sum (linear in all
/// together), square of the product.
enum class Kind { Product, Sum, Square };

struct PlacementTensor {
  llvm::SmallVector<int64_t> shape;
  Sharding sharding; ///< operand: what it has; result: what its users want
};

struct PlacementOp {
  ShardingRule rule;
  std::vector<PlacementTensor> operands, results;
  double flops = 0;
};

using Index = llvm::SmallVector<int64_t, 4>; ///< one entry a factor

class RandomOp {
public:
  explicit RandomOp(unsigned seed) : random(seed) {
    static const char *meshes[] = {"x2 y2", "x4 y2", "x2 y3 z2", "x4", "x6 y2"};
    mesh = tessera::mesh(meshes[pick(0, 4)]);
    kind = Kind(pick(0, 2));
    int factors = pick(1, 3);
    for (int f = 0; f < factors; ++f)
      op.rule.addFactor(pick(1, 6));
    int operands = kind == Kind::Square ? 1 : pick(1, 3);
    std::vector<bool> seen(factors, false);
    for (int o = 0; o < operands; ++o) {
      TensorFactors tensor;
      for (int f = 0; f < factors; ++f)
        if (kind == Kind::Sum || pick(0, 2) || (o + 1 == operands && !seen[f])) {
          tensor.dims.push_back({f});
          seen[f] = true;
        }
      op.rule.operands.push_back(tensor);
      if (kind == Kind::Product)
        op.rule.linear.push_back({o});
    }
    if (kind == Kind::Sum) {
      op.rule.linear.emplace_back();
      for (int o = 0; o < operands; ++o)
        op.rule.linear[0].push_back(o);
    }
    TensorFactors result;
    for (int f = 0; f < factors; ++f) {
      if (pick(0, 2))
        result.dims.push_back({f});
      else
        op.rule.factors[f].kind = FactorKind::Reduction;
    }
    op.rule.results = {result};
    for (const TensorFactors &tensor : op.rule.operands)
      op.operands.push_back(randomTensor(tensor, /*partial=*/pick(0, 1)));
    // Sums that go together are often partial over the same axes.
    for (PlacementTensor &operand : op.operands)
      if (pick(0, 1) && kind == Kind::Sum)
        operand.sharding = op.operands[0].sharding;
    op.results = {randomTensor(result, /*partial=*/false)};
    op.flops = pick(0, 1) ? 1 : 1e6;
    for (const PlacementTensor &operand : op.operands) {
      int64_t elements = 1, ranks = axesSize(operand.sharding.partial);
      for (int64_t n : operand.shape)
        elements *= n;
      auto &values = contributions.emplace_back(elements);
      for (auto &terms : values)
        for (int64_t r = 0; r < ranks; ++r)
          terms.push_back(pick(-3, 3));
    }
  }

  std::string check() {
    ReshardCosts costs(mesh, Machine());
    PlacementProgram program;
    ProgramOp placed;
    for (const PlacementTensor &operand : op.operands) {
      placed.operands.push_back(int(program.values.size()));
      program.values.push_back({.shape = operand.shape, .sharding = operand.sharding, .fixed = true});
    }
    placed.rule = op.rule;
    placed.flops = op.flops;
    placed.results = {int(program.values.size())};
    program.uses.push_back({placed.results.front(), op.results[0].sharding});
    program.values.push_back({.shape = op.results[0].shape, .sharding = op.results[0].sharding});
    program.ops.push_back(placed);
    PlacementDecision decision = placeProgram(program, costs).ops.front();
    for (auto [operand, needed] : llvm::zip(op.operands, decision.operands))
      if (!planReshard(mesh, operand.shape, operand.sharding, needed))
        return "no reshard to " + toString(needed, mesh);
    const Sharding &produced = decision.results[0];
    std::vector<std::map<Index, int64_t>> local;
    for (int64_t device = 0; device < mesh.numDevices(); ++device)
      local.push_back(run(device, decision.factorAxes, [&](int o, const Index &index) {
        return held(o, index, decision.operands[o], device);
      }));
    auto whole = run(0, llvm::SmallVector<AxisList>(op.rule.factors.size()), [&](int o, const Index &index) {
      return held(o, index, Sharding(int64_t(op.operands[o].shape.size())), 0);
    });
    size_t covered = 0;
    for (int64_t device = 0; device < mesh.numDevices(); ++device)
      for (auto &[index, value] : local[device]) {
        int64_t sum = 0;
        for (int64_t other : groupOf(mesh, produced.partial, device)) {
          auto it = local[other].find(index);
          if (it == local[other].end())
            return "ranks of one sum hold different pieces";
          sum += it->second;
        }
        if (sum != whole[index])
          return "wrong result: operands " + text(decision.operands) + " result " + toString(produced, mesh);
        ++covered;
      }
    // Every element is on some rank: pieces are as the produced sharding says.
    std::map<Index, bool> found;
    for (auto &elements : local)
      for (auto &entry : elements)
        found[entry.first] = true;
    return found.size() == whole.size() && covered > 0 ? "" : "elements are missing";
  }

  std::string describe() const {
    std::vector<Sharding> shardings;
    for (const PlacementTensor &operand : op.operands)
      shardings.push_back(operand.sharding);
    return op.rule.toString() + " kind " + std::to_string(int(kind)) + " " + text(shardings) + "-> " +
           toString(op.results[0].sharding, mesh);
  }

private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  std::string text(llvm::ArrayRef<Sharding> shardings) const {
    std::string result;
    for (const Sharding &sharding : shardings)
      result += toString(sharding, mesh) + " ";
    return result;
  }

  PlacementTensor randomTensor(const TensorFactors &factors, bool partial) {
    PlacementTensor tensor;
    tensor.sharding = Sharding(int64_t(factors.dims.size()));
    for (const auto &dim : factors.dims)
      tensor.shape.push_back(op.rule.factors[dim[0]].size);
    llvm::SmallVector<int> axes;
    for (int i = 0; i < int(mesh.axes.size()); ++i)
      axes.push_back(i);
    std::shuffle(axes.begin(), axes.end(), random);
    for (int axis : axes) {
      int where = pick(0, int(factors.dims.size()) + 1);
      if (where < int(factors.dims.size()))
        tensor.sharding.dims[where].axes.push_back(wholeAxis(mesh, axis));
      else if (partial && pick(0, 1))
        tensor.sharding.partial.push_back(wholeAxis(mesh, axis));
    }
    llvm::sort(tensor.sharding.partial);
    if (!tensor.sharding.partial.empty())
      tensor.sharding.partialKind = PartialKind::Sum;
    return tensor;
  }

  /// What `device` holds of an element of operand `o` once it is as `needed` says: terms of the ranks no
  /// longer apart are added up, and over axes that are partial only now one rank contributes it.
  int64_t held(int o, const Index &index, const Sharding &needed, int64_t device) {
    int64_t element = 0;
    for (auto [d, dim] : llvm::enumerate(op.rule.operands[o].dims))
      element = element * op.operands[o].shape[d] + index[dim[0]];
    const AxisList &partial = op.operands[o].sharding.partial;
    AxisList contributed = axesWithout(needed.partial, partial),
             apart = axesWithout(needed.partial, contributed);
    if (groupIndex(mesh, contributed, device) != 0)
      return 0;
    int64_t sum = 0;
    for (int64_t member : groupOf(mesh, partial, device))
      if (groupIndex(mesh, apart, member) == groupIndex(mesh, apart, device))
        sum += contributions[o][element][groupIndex(mesh, partial, member)];
    return sum;
  }

  /// The op on the indices of one device.
  template <typename Read>
  std::map<Index, int64_t> run(int64_t device, llvm::ArrayRef<AxisList> factorAxes, Read read) {
    std::map<Index, int64_t> result;
    Index index(op.rule.factors.size(), 0), begin, end;
    for (auto [f, factor] : llvm::enumerate(op.rule.factors)) {
      int64_t k = axesSize(factorAxes[f]), extent = (factor.size + k - 1) / k;
      begin.push_back(groupIndex(mesh, factorAxes[f], device) * extent);
      end.push_back(std::min(factor.size, begin.back() + extent));
    }
    auto visit = [&](auto &self, size_t f) -> void {
      if (f < index.size()) {
        for (index[f] = begin[f]; index[f] < end[f]; ++index[f])
          self(self, f + 1);
        return;
      }
      int64_t value = kind == Kind::Sum ? 0 : 1;
      for (int o = 0; o < int(op.operands.size()); ++o)
        value = kind == Kind::Sum ? value + read(o, index) : value * read(o, index);
      Index key;
      for (const auto &dim : op.rule.results[0].dims)
        key.push_back(index[dim[0]]);
      result[key] += kind == Kind::Square ? value * value : value;
    };
    visit(visit, 0);
    // A rank whose piece of a reduction is all padding adds nothing, but has its piece of the result.
    Index place(op.rule.factors.size(), 0);
    auto fill = [&](auto &self, size_t f) -> void {
      if (f < place.size()) {
        if (op.rule.factors[f].kind == FactorKind::Reduction)
          return self(self, f + 1);
        for (place[f] = begin[f]; place[f] < end[f]; ++place[f])
          self(self, f + 1);
        return;
      }
      Index key;
      for (const auto &dim : op.rule.results[0].dims)
        key.push_back(place[dim[0]]);
      result.try_emplace(key, 0);
    };
    fill(fill, 0);
    return result;
  }

  std::mt19937 random;
  Mesh mesh;
  Kind kind;
  PlacementOp op;
  std::vector<std::vector<llvm::SmallVector<int64_t, 4>>>
      contributions; ///< operand, element, rank of the partial group
};

} // namespace

TEST(PlacementSemantics, RandomOpsComputeTheSameOnEveryMesh) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomOp op(seed);
    ASSERT_EQ(op.check(), "") << "seed " << seed << ": " << op.describe();
  }
}
