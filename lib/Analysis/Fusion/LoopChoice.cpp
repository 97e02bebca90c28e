//===- LoopChoice.cpp - the loop that a set of ops can share --------------===//
//
// Factors of different ops are one where a value that one makes and the other reads has them in the same
// dimension. A class of such factors is an axis that the loop may run over if every op computes it
// independently. Where one op knows a dimension as several factors (pairs of a head's elements), an op for
// which it is one passes it as if it were several too, or else nobody loops over it.
//
//===----------------------------------------------------------------------===//

#include "tessera/Analysis/Fusion/Fusion.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

namespace tessera::fusion {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

/// Arrays begin at multiples of so many bytes.
constexpr int64_t kApart = 64;

/// A factor of one op in the set: the parts that its dimensions stand as, or `whole`: nobody looks inside.
struct FactorState {
  SmallVector<int64_t, 2> parts;
  bool whole = false;
  int firstAtom = 0; ///< number of the first part among all parts of the set
};

/// Where the value of an edge stands.
struct TensorAt {
  int op; ///< place in the set
  bool result;
  int number;
};
struct Edge {
  TensorAt made, read;
};

class LoopChooser {
public:
  LoopChooser(ArrayRef<Op> program, ArrayRef<int> ops, ArrayRef<int> again, const Choices &choices)
      : program(program), ops(ops), choices(choices) {
    for (int number : ops)
      isAgain.push_back(llvm::is_contained(again, number));
  }

  std::optional<Body> run() {
    if (!findEdges())
      return std::nullopt;
    for (int number : ops) {
      SmallVector<FactorState, 8> &ofOp = states.emplace_back();
      for (const Factor &factor : op(number).rule.factors)
        ofOp.push_back({{factor.size}});
    }
    while (alignOnce()) {
    }
    uniteAtoms();
    findAxes();
    chooseTiles();
    return body();
  }

private:
  const Op &op(int number) const { return program[number]; }
  const Op &opAt(int place) const { return program[ops[place]]; }
  ArrayRef<SmallVector<int, 2>> dims(TensorAt at) const {
    const ShardingRule &rule = opAt(at.op).rule;
    return (at.result ? rule.results : rule.operands)[at.number].dims;
  }

  /// Values that pass inside. What is changed in place is complete after the last iteration only.
  bool findEdges() {
    llvm::DenseMap<int, TensorAt> makers;
    for (int place = 0; place < int(ops.size()); ++place)
      for (auto [number, value] : llvm::enumerate(opAt(place).results))
        makers[value] = {place, true, int(number)};
    for (int place = 0; place < int(ops.size()); ++place)
      for (auto [number, value] : llvm::enumerate(opAt(place).operands)) {
        auto it = makers.find(value);
        if (it == makers.end())
          continue;
        if (opAt(place).updated == int(number) || opAt(it->second.op).updated >= 0)
          return false;
        edges.push_back({it->second, {place, false, int(number)}});
      }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Factors in parts
  //===--------------------------------------------------------------------===//

  SmallVector<int64_t, 4> partsOf(TensorAt at, int64_t dim) const {
    SmallVector<int64_t, 4> parts;
    for (int factor : dims(at)[dim])
      llvm::append_range(parts, states[at.op][factor].parts);
    return parts;
  }
  bool isWhole(TensorAt at, int64_t dim) const {
    return llvm::any_of(dims(at)[dim], [&](int factor) { return states[at.op][factor].whole; });
  }
  void makeWhole(TensorAt at, int64_t dim) {
    for (int factor : dims(at)[dim]) {
      FactorState &state = states[at.op][factor];
      state.parts = {opAt(at.op).rule.factors[factor].size};
      state.whole = true;
    }
  }
  /// The one factor of the dimension takes the parts of the other side.
  bool adopt(TensorAt at, int64_t dim, ArrayRef<int64_t> parts) {
    ArrayRef<int> factors = dims(at)[dim];
    if (factors.size() != 1 || !llvm::is_contained(opAt(at.op).splittable, factors[0]))
      return false;
    FactorState &state = states[at.op][factors[0]];
    if (state.parts.size() != 1 || product(parts) != state.parts[0])
      return false;
    state.parts.assign(parts.begin(), parts.end());
    return true;
  }

  bool alignOnce() {
    bool changed = false;
    for (const Edge &edge : edges)
      for (int64_t d = 0, rank = int64_t(dims(edge.made).size()); d < rank; ++d) {
        if (dims(edge.made)[d].empty() || dims(edge.read)[d].empty())
          continue;
        bool whole = isWhole(edge.made, d);
        if (whole != isWhole(edge.read, d)) {
          makeWhole(whole ? edge.read : edge.made, d);
          changed = true;
        } else if (!whole) {
          SmallVector<int64_t, 4> made = partsOf(edge.made, d), read = partsOf(edge.read, d);
          if (made == read)
            continue;
          if (!(made.size() < read.size() && adopt(edge.made, d, read)) &&
              !(read.size() < made.size() && adopt(edge.read, d, made))) {
            makeWhole(edge.made, d);
            makeWhole(edge.read, d);
          }
          changed = true;
        }
      }
    return changed;
  }

  //===--------------------------------------------------------------------===//
  // Axes
  //===--------------------------------------------------------------------===//

  SmallVector<int, 4> atomsOf(TensorAt at, int64_t dim) const {
    SmallVector<int, 4> atoms;
    for (int factor : dims(at)[dim])
      for (size_t i = 0; i < states[at.op][factor].parts.size(); ++i)
        atoms.push_back(states[at.op][factor].firstAtom + int(i));
    return atoms;
  }

  void uniteAtoms() {
    int atoms = 0;
    for (auto &ofOp : states)
      for (FactorState &state : ofOp) {
        state.firstAtom = atoms;
        for (size_t i = 0; i < state.parts.size(); ++i)
          classes.insert(atoms++);
      }
    for (const Edge &edge : edges)
      for (int64_t d = 0, rank = int64_t(dims(edge.made).size()); d < rank; ++d)
        if (!dims(edge.made)[d].empty() && !dims(edge.read)[d].empty() && !isWhole(edge.made, d))
          for (auto [a, b] : llvm::zip_equal(atomsOf(edge.made, d), atomsOf(edge.read, d)))
            classes.unionSets(a, b);
    axisOf.assign(size_t(atoms), -1);
  }

  static bool has(const TensorFactors &tensor, int factor) {
    return llvm::any_of(tensor.dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  }

  /// The iterations over `factor` are independent, and take more of what the op reads apart than they read
  /// again: the rows of a product's weight, but not the rows of its input beside all of the weight.
  bool runsOver(int place, int factor) const {
    const Op &self = opAt(place);
    if (self.rule.factors[factor].kind != FactorKind::PassThrough)
      return false;
    for (auto [number, result] : llvm::enumerate(self.rule.results))
      if (!(self.updated >= 0 && number == 0) && !has(result, factor))
        return false;
    int64_t apart = 0, again = 0;
    for (auto [number, operand] : llvm::enumerate(self.rule.operands))
      if (int(number) != self.updated)
        (has(operand, factor) ? apart : again) += product(self.operandShapes[number]);
    if (self.updated >= 0 && !apart)
      return false;
    return isAgain[place] || again <= apart || self.operands.empty();
  }

  void findAxes() {
    // What the ops say of each class.
    struct Class {
      bool loops = true;
      llvm::SmallDenseMap<int, int> atomsOfOp;
    };
    llvm::DenseMap<int, Class> found;
    for (int place = 0; place < int(ops.size()); ++place)
      for (auto [factor, state] : llvm::enumerate(states[place]))
        for (size_t i = 0; i < state.parts.size(); ++i) {
          Class &here = found[classes.getLeaderValue(state.firstAtom + int(i))];
          here.loops &= !state.whole && runsOver(place, int(factor)) && ++here.atomsOfOp[place] == 1;
        }
    // Of the ops that decide: makers of constants have no say.
    SmallVector<int> deciding;
    for (int place = 0; place < int(ops.size()); ++place)
      if (!isAgain[place] && !opAt(place).operands.empty())
        deciding.push_back(place);
    if (deciding.empty())
      for (int place = 0; place < int(ops.size()); ++place)
        deciding.push_back(place);
    // In the order of the dimensions of the op that has most to do.
    int most = deciding.front();
    for (int place : deciding)
      if (opAt(place).work > opAt(most).work)
        most = place;
    auto visit = [&](TensorAt at) {
      for (int64_t d = 0, rank = int64_t(dims(at).size()); d < rank; ++d)
        for (int factor : dims(at)[d])
          for (auto [i, size] : llvm::enumerate(states[at.op][factor].parts)) {
            int leader = classes.getLeaderValue(states[at.op][factor].firstAtom + int(i));
            const Class &here = found[leader];
            if (size == 1 || !here.loops || axisOfLeader.count(leader) ||
                !llvm::all_of(deciding, [&](int place) { return here.atomsOfOp.count(place); }))
              continue;
            axisOfLeader[leader] = int(axes.size());
            axes.push_back({size, 1});
          }
    };
    for (int number = 0; number < int(opAt(most).results.size()); ++number)
      visit({most, true, number});
    for (int number = 0; number < int(opAt(most).operands.size()); ++number)
      visit({most, false, number});
    for (size_t atom = 0; atom < axisOf.size(); ++atom)
      if (auto it = axisOfLeader.find(classes.getLeaderValue(int(atom))); it != axisOfLeader.end())
        axisOf[atom] = it->second;
    for (int place = 0; place < int(ops.size()); ++place) {
      llvm::SmallVector<bool, 4> &mine = axesOfOp.emplace_back(axes.size(), false);
      for (const FactorState &state : states[place])
        for (size_t i = 0; i < state.parts.size(); ++i)
          if (int axis = axisOf[size_t(state.firstAtom) + i]; axis >= 0)
            mine[size_t(axis)] = true;
    }
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// Elements that one iteration reads and writes; those of ops that are computed again apart.
  std::pair<int64_t, int64_t> iterationWork() const {
    int64_t own = 0, again = 0;
    for (int place = 0; place < int(ops.size()); ++place) {
      int64_t count = 1;
      for (auto [axis, mine] : llvm::zip_equal(axes, axesOfOp[place]))
        count *= mine ? axis.count() : 1;
      (isAgain[place] ? again : own) += std::max<int64_t>(1, opAt(place).work / count);
    }
    return {own, again};
  }
  int64_t iterations() const {
    int64_t n = 1;
    for (const Axis &axis : axes)
      n *= axis.count();
    return n;
  }

  /// Points that a tile of the op at `place` has along a factor.
  int64_t pointsOf(int place, int factor) const {
    const FactorState &state = states[place][factor];
    int64_t n = 1;
    for (auto [i, size] : llvm::enumerate(state.parts)) {
      int axis = axisOf[size_t(state.firstAtom) + i];
      n *= axis < 0 ? size : axes[axis].tile;
    }
    return n;
  }
  /// What an op that is not pointwise makes may be an array before it is stored; what a pointwise one makes
  /// is one for others only.
  bool isArray(int place, int value) const {
    return !opAt(place).pointwise || llvm::any_of(ops, [&](int number) {
      return !op(number).pointwise && llvm::is_contained(op(number).operands, value);
    });
  }
  /// Bytes of the arrays that an iteration has for itself, at most: where they lie they do not share places.
  int64_t keptBytes() const {
    int64_t kept = 0;
    for (int place = 0; place < int(ops.size()); ++place) {
      const Op &self = opAt(place);
      auto add = [&](int64_t bytes) { kept += (bytes + kApart - 1) / kApart * kApart; };
      for (auto [number, bytes] : llvm::enumerate(self.elementBytes)) {
        if ((self.updated >= 0 && number == 0) || !isArray(place, self.results[number]))
          continue;
        int64_t points = 1;
        for (auto [dim, size] :
             llvm::zip_equal(dims({place, true, int(number)}), self.resultShapes[number])) {
          points *= dim.empty() ? size : 1;
          for (int factor : dim)
            points *= pointsOf(place, factor);
        }
        add(points * bytes);
      }
      for (const Scratch &scratch : self.scratch) {
        int64_t points = 1;
        for (int factor : scratch.factors)
          points *= pointsOf(place, factor);
        add(points * scratch.bytes);
      }
    }
    return kept;
  }

  /// What divides `size`, beyond 1, ascending. In pairs, so that a size of 2^31 costs 2^15 steps.
  static SmallVector<int64_t> tilesOf(int64_t size) {
    SmallVector<int64_t> small, large;
    for (int64_t divisor = 1; divisor <= size / divisor; ++divisor) {
      if (size % divisor)
        continue;
      if (divisor > 1)
        small.push_back(divisor);
      if (size / divisor > divisor)
        large.push_back(size / divisor);
    }
    small.append(large.rbegin(), large.rend());
    return small;
  }

  /// From single elements up, innermost axis first, while there are iterations to spare.
  void chooseTiles() {
    for (Axis &axis : llvm::reverse(axes))
      for (int64_t tile : tilesOf(axis.size)) {
        int64_t before = axis.tile;
        axis.tile = tile;
        auto [own, again] = iterationWork();
        bool fills = iterations() >= choices.parallelIterations || own + again <= choices.smallElements;
        // Beside a large tile what is computed again is small.
        if (!fills || (own + again > choices.tileElements && 4 * again <= own) ||
            keptBytes() > choices.keptBytes) {
          axis.tile = before;
          return;
        }
      }
  }

  Parts partsOf(TensorAt at, ArrayRef<int64_t> shape, ArrayRef<int> looped) const {
    Parts parts;
    for (int64_t d = 0, rank = int64_t(dims(at).size()); d < rank; ++d) {
      SmallVector<int, 4> atoms = atomsOf(at, d);
      auto loop = [&](int atom) { return axisOf[atom] < 0 ? -1 : looped[axisOf[atom]]; };
      if (llvm::all_of(atoms, [&](int atom) { return loop(atom) < 0; })) {
        parts.push_back({shape[d], -1});
        continue;
      }
      for (auto [size, atom] : llvm::zip_equal(partsOf(at, d), atoms))
        parts.push_back({size, loop(atom)});
    }
    return parts;
  }

  Body body() const {
    Body body;
    SmallVector<int, 4> looped; // axis -> its number among those that are no single tile
    for (const Axis &axis : axes) {
      looped.push_back(axis.count() > 1 ? int(body.axes.size()) : -1);
      if (axis.count() > 1)
        body.axes.push_back(axis);
    }
    body.ops.assign(ops.begin(), ops.end());
    for (int place = 0; place < int(ops.size()); ++place) {
      OpTiles tiles;
      for (auto [number, shape] : llvm::enumerate(opAt(place).operandShapes))
        tiles.operands.push_back(partsOf({place, false, int(number)}, shape, looped));
      for (auto [number, shape] : llvm::enumerate(opAt(place).resultShapes))
        tiles.results.push_back(partsOf({place, true, int(number)}, shape, looped));
      body.tiles.push_back(std::move(tiles));
    }
    auto [own, again] = iterationWork();
    body.tileElements = own + again;
    body.againElements = again;
    body.keptBytes = keptBytes();
    return body;
  }

  ArrayRef<Op> program;
  ArrayRef<int> ops;
  const Choices &choices;
  SmallVector<bool, 8> isAgain;
  std::vector<SmallVector<FactorState, 8>> states;
  SmallVector<Edge, 16> edges;
  llvm::EquivalenceClasses<int> classes;
  SmallVector<int> axisOf; ///< atom -> axis or -1
  llvm::DenseMap<int, int> axisOfLeader;
  SmallVector<Axis, 4> axes;
  SmallVector<SmallVector<bool, 4>, 8> axesOfOp;
};

} // namespace

std::optional<Body> chooseLoop(ArrayRef<Op> program, ArrayRef<int> ops, ArrayRef<int> again,
                               const Choices &choices) {
  return LoopChooser(program, ops, again, choices).run();
}

} // namespace tessera::fusion
