//===- SavedValues.cpp - What backward has from forward -------------------===//
//
// Whether each op runs again decides everything: a value that is needed, by backward or by an op that runs
// again, and whose op does not, is saved. For a price per byte the cheapest choice is a least cut: an op on
// the source's side runs again and is cut from the sink, which costs its time; a value on the source's side
// is needed, and is cut from its op, which costs its bytes, if that is on the other side. Ops that take no
// time are left to the cut; the others are what branch and bound decides on.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Saved/SavedValues.h"

#include "tessera/Analysis/Saved/LeastCut.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

enum class Run { Open, Once, Again };

/// What costs more than this is in no choice that anybody wants.
int64_t capacity(double costs) { return int64_t(std::min(costs, 0x1p55)); }

class Search {
public:
  Search(const SavedProblem &problem, int64_t limit, int64_t work)
      : problem(problem), limit(limit), work(work), fixed(problem.ops.size(), Run::Open) {
    for (size_t i = 0; i < problem.ops.size(); ++i)
      if (problem.ops[i].time > 0)
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return problem.ops[a].time > problem.ops[b].time; });
  }

  /// The choice with the least time within the limit, and of those the one with fewest bytes.
  std::optional<SavedChoice> run() {
    branch();
    return best;
  }

  bool isExact() const { return work >= 0; }
  /// The fewest bytes of all.
  std::optional<SavedChoice> fewestBytes() const { return cheapest(1, 0); }

private:
  /// The cheapest choice where a byte costs `price` and ops' times are multiplied by `timeFactor`, under what
  /// is fixed; none: what is fixed allows no choice.
  std::optional<SavedChoice> cheapest(double price, double timeFactor) const;
  void branch();
  void offer(const SavedChoice &choice) {
    if (choice.bytes <= limit &&
        (!best || std::pair(choice.time, choice.bytes) < std::pair(best->time, best->bytes)))
      best = choice;
  }

  const SavedProblem &problem;
  int64_t limit, work;
  std::vector<Run> fixed;
  std::vector<size_t> order; ///< ops that take time, those that take most first
  std::optional<SavedChoice> best;
};

} // namespace

std::optional<SavedChoice> Search::cheapest(double price, double timeFactor) const {
  LeastCut network;
  int source = network.addNode(), sink = network.addNode();
  std::vector<int> ops, values;
  for (size_t i = 0; i < problem.ops.size(); ++i)
    ops.push_back(network.addNode());
  for (size_t i = 0; i < problem.values.size(); ++i)
    values.push_back(network.addNode());
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    if (fixed[i] == Run::Once)
      network.addEdge(ops[i], sink, LeastCut::unlimited);
    else if (fixed[i] == Run::Open && problem.ops[i].time > 0)
      network.addEdge(ops[i], sink, capacity(double(problem.ops[i].time) * timeFactor));
    if (fixed[i] == Run::Again)
      network.addEdge(source, ops[i], LeastCut::unlimited);
    for (int value : problem.ops[i].reads)
      network.addEdge(ops[i], values[size_t(value)], LeastCut::unlimited);
  }
  for (size_t i = 0; i < problem.values.size(); ++i) {
    auto [bytes, maker] = problem.values[i];
    int64_t costs = bytes == SavedProblem::never ? LeastCut::unlimited : capacity(double(bytes) * price);
    if (bytes != 0)
      network.addEdge(values[i], maker < 0 ? sink : ops[size_t(maker)], costs);
  }
  for (int value : problem.needed)
    network.addEdge(source, values[size_t(value)], LeastCut::unlimited);
  if (network.cut(source, sink) >= LeastCut::unlimited)
    return std::nullopt;
  std::vector<bool> side = network.reachedFrom(source);
  SavedChoice choice;
  choice.saved.resize(values.size());
  choice.again.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    if (side[size_t(ops[i])]) {
      choice.again[i] = true;
      choice.time += problem.ops[i].time;
    }
  for (size_t i = 0; i < values.size(); ++i) {
    auto [bytes, maker] = problem.values[i];
    if (bytes != 0 && side[size_t(values[i])] && (maker < 0 || !choice.again[size_t(maker)])) {
      choice.saved[i] = true;
      choice.bytes += bytes;
    }
  }
  return choice;
}

/// Everything under what is fixed.
void Search::branch() {
  if (--work < 0 && best)
    return;
  // Where all that may run again does, bytes are fewest.
  std::optional<SavedChoice> fewest = cheapest(1, 0);
  if (!fewest || fewest->bytes > limit)
    return;
  offer(*fewest);
  // Where nothing does that need not, time is least.
  std::vector<Run> before = fixed;
  for (size_t op : order)
    if (fixed[op] == Run::Open)
      fixed[op] = Run::Once;
  std::optional<SavedChoice> fastest = cheapest(1, 0);
  fixed = before;
  int64_t atLeast = 0;
  for (size_t op : order)
    if (fixed[op] == Run::Again)
      atLeast += problem.ops[op].time;
  if (fastest && fastest->bytes <= limit)
    return offer(*fastest);
  if (best && atLeast > best->time)
    return;
  // A price at which one choice that fits and one that does not cost the same: if no other is cheaper, what
  // they cost bounds the time of all that fit; else the cheaper one takes the place of one of them.
  double bound = double(atLeast);
  SavedChoice fits = *fewest, tooLarge = fastest ? *fastest : *fewest;
  for (bool isBetter = fastest.has_value(); isBetter && fits.time > tooLarge.time;) {
    double price = double(fits.time - tooLarge.time) / double(tooLarge.bytes - fits.bytes);
    double known = double(fits.time) + price * double(fits.bytes);
    double scale = 1e12 / known; // of rounding down nothing is left, then
    SavedChoice between = *cheapest(price * scale, scale);
    double costs = std::min(known, double(between.time) + price * double(between.bytes));
    bound = std::max(bound, costs - price * double(limit));
    isBetter = costs < known * (1 - 1e-9);
    offer(between);
    (between.bytes <= limit ? fits : tooLarge) = between;
  }
  bound *= 1 - 1e-9;
  // Times are whole numbers.
  if (best &&
      (bound > double(best->time) || (bound > double(best->time) - 0.5 && fewest->bytes >= best->bytes)))
    return;
  // What the two do differently is worth most.
  auto isOpen = [&](size_t op) { return fixed[op] == Run::Open; };
  auto open = std::find_if(order.begin(), order.end(),
                           [&](size_t op) { return isOpen(op) && fits.again[op] != tooLarge.again[op]; });
  if (open == order.end())
    open = std::find_if(order.begin(), order.end(), isOpen);
  if (open == order.end())
    return;
  for (Run run : {Run::Once, Run::Again}) {
    fixed[*open] = run;
    branch();
  }
  fixed[*open] = Run::Open;
}

SavedFrontier::SavedFrontier(const SavedProblem &problem, size_t most, int64_t work)
    : numValues(problem.values.size()), numOps(problem.ops.size()), pieces(cutApart(problem)) {
  sums.push_back({{0, 0, 0, 0}});
  for (Piece &piece : pieces) {
    findChoices(problem, piece, most, work);
    add(piece, most);
  }
  for (const Sum &sum : sums.back())
    points_.push_back({sum.bytes, sum.time});
}

std::vector<SavedFrontier::Piece> SavedFrontier::cutApart(const SavedProblem &problem) const {
  // Each op, and behind them each value, with the one that stands for its piece.
  std::vector<int> leader(numOps + numValues);
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](size_t node) {
    while (size_t(leader[node]) != node)
      node = size_t(leader[node] = leader[size_t(leader[node])]);
    return node;
  };
  std::vector<bool> isThere(numValues);
  for (size_t i = 0; i < numValues; ++i)
    isThere[i] = problem.values[i].bytes == 0;
  for (int value : problem.needed)
    isThere[size_t(value)] = true;
  for (size_t i = 0; i < numValues; ++i)
    if (int maker = problem.values[i].maker; maker >= 0)
      leader[find(numOps + i)] = int(find(size_t(maker)));
  for (size_t i = 0; i < numOps; ++i)
    for (int value : problem.ops[i].reads)
      if (!isThere[size_t(value)])
        leader[find(numOps + size_t(value))] = int(find(i));
  std::vector<Piece> found;
  std::vector<int> numbers(leader.size(), -1);
  auto pieceOf = [&](size_t node) -> Piece & {
    int &number = numbers[find(node)];
    if (number < 0) {
      number = int(found.size());
      found.emplace_back();
    }
    return found[size_t(number)];
  };
  for (size_t i = 0; i < numOps; ++i)
    pieceOf(i).ops.push_back(int(i));
  for (size_t i = 0; i < numValues; ++i)
    pieceOf(numOps + i).values.push_back(int(i));
  return found;
}

void SavedFrontier::findChoices(const SavedProblem &problem, Piece &piece, size_t most, int64_t work) {
  SavedProblem part;
  std::vector<int> numbers(numValues, -1), ops(numOps, -1);
  for (size_t i = 0; i < piece.ops.size(); ++i)
    ops[size_t(piece.ops[i])] = int(i);
  for (int value : piece.values) {
    numbers[size_t(value)] = int(part.values.size());
    part.values.push_back(problem.values[size_t(value)]);
    if (int &maker = part.values.back().maker; maker >= 0)
      maker = ops[size_t(maker)];
  }
  std::vector<bool> isNeeded(numValues);
  for (int value : problem.needed)
    isNeeded[size_t(value)] = true;
  for (int op : piece.ops) {
    part.ops.push_back({problem.ops[size_t(op)].time, {}});
    for (int value : problem.ops[size_t(op)].reads)
      if (numbers[size_t(value)] >= 0 && !isNeeded[size_t(value)])
        part.ops.back().reads.push_back(numbers[size_t(value)]);
  }
  for (int value : piece.values)
    if (isNeeded[size_t(value)])
      part.needed.push_back(numbers[size_t(value)]);
  int64_t step = 0;
  for (int64_t limit = SavedProblem::never - 1;;) {
    Search search(part, limit, work);
    std::optional<SavedChoice> choice = search.run();
    if (!choice)
      break;
    isExact_ &= search.isExact();
    if (piece.choices.empty())
      step = choice->bytes / int64_t(most);
    limit = choice->bytes - 1 - step;
    piece.choices.push_back(std::move(*choice));
  }
  if (step > 0) { // the smallest may have been stepped over
    isExact_ = false;
    SavedChoice fewest = *Search(part, SavedProblem::never, 0).fewestBytes();
    if (fewest.bytes < piece.choices.back().bytes)
      piece.choices.push_back(std::move(fewest));
  }
}

void SavedFrontier::add(const Piece &piece, size_t most) {
  std::vector<Sum> all;
  for (size_t before = 0; before < sums.back().size(); ++before)
    for (size_t choice = 0; choice < piece.choices.size(); ++choice)
      all.push_back({sums.back()[before].bytes + piece.choices[choice].bytes,
                     sums.back()[before].time + piece.choices[choice].time, before, choice});
  std::stable_sort(all.begin(), all.end(), [](const Sum &a, const Sum &b) {
    return std::pair(a.bytes, a.time) < std::pair(b.bytes, b.time);
  });
  std::vector<Sum> kept;
  for (const Sum &sum : all)
    if (kept.empty() || sum.time < kept.back().time)
      kept.push_back(sum);
  if (kept.size() > most) {
    isExact_ = false;
    int64_t first = kept.front().bytes, last = kept.back().bytes;
    auto bucketOf = [&](const Sum &sum) {
      return int64_t(double(sum.bytes - first) / double(last - first) * double(most - 1));
    };
    std::vector<Sum> fewer;
    for (const Sum &sum : kept) // the last of a bucket takes least time; the first of all stays
      if (fewer.size() > 1 && bucketOf(fewer.back()) == bucketOf(sum))
        fewer.back() = sum;
      else
        fewer.push_back(sum);
    kept = std::move(fewer);
  }
  sums.push_back(std::move(kept));
}

std::optional<size_t> SavedFrontier::within(int64_t bytes) const {
  auto after = std::upper_bound(points_.begin(), points_.end(), bytes,
                                [](int64_t limit, const Point &point) { return limit < point.bytes; });
  return after == points_.begin() ? std::nullopt : std::optional(size_t(after - points_.begin()) - 1);
}

SavedChoice SavedFrontier::choice(size_t point) const {
  SavedChoice whole;
  whole.saved.resize(numValues);
  whole.again.resize(numOps);
  whole.bytes = points_[point].bytes;
  whole.time = points_[point].time;
  for (size_t i = pieces.size(); i-- > 0;) {
    const Sum &sum = sums[i + 1][point];
    const SavedChoice &part = pieces[i].choices[sum.choice];
    for (size_t j = 0; j < part.saved.size(); ++j)
      whole.saved[size_t(pieces[i].values[j])] = part.saved[j];
    for (size_t j = 0; j < part.again.size(); ++j)
      whole.again[size_t(pieces[i].ops[j])] = part.again[j];
    point = sum.before;
  }
  return whole;
}

} // namespace tessera
