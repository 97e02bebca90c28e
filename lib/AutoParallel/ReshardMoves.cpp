//===- ReshardMoves.cpp - Steps worth trying from a state -----------------===//
#include "ReshardState.h"

#include "tessera/Analysis/Sharding/GroupedSends.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::reshard;

namespace {

class MoveGenerator {
public:
  MoveGenerator(const Problem &problem, const State &state, bool limitMemory)
      : problem(problem), state(state), limitMemory(limitMemory), local(localSize(problem, state)) {
    for (int d = 0; d < problem.rank(); ++d)
      splits.push_back(splitsOf(problem, state, d));
    for (auto [place, goal] : llvm::zip(state, problem.goal))
      sums |= place.dim == DigitUse::kPartial && goal.dim != DigitUse::kPartial;
  }

  std::vector<Move> run() {
    slices();
    gathers();
    if (sums)
      reductions();
    if (problem.options.strided)
      stridedExchanges();
    else
      plainExchanges();
    permutes();
    if (sums)
      spread();
    if (problem.sends)
      sends();
    return std::move(moves);
  }

private:
  int64_t endOf(int dim) const { return splits[dim].empty() ? 1 : splits[dim].back().end(); }

  /// `digit` may go to `place` now: nobody splits that digit of the dimension, and pieces line up.
  bool isFree(int digit, const DigitUse &place) const {
    auto after = splits[place.dim];
    Split added = {place.pre, problem.size(digit), digit};
    after.insert(
        llvm::upper_bound(after, added, [](const Split &a, const Split &b) { return a.pre < b.pre; }), added);
    for (size_t i = 1; i < after.size(); ++i)
      if (after[i].pre == after[i - 1].pre || after[i].pre < after[i - 1].end())
        return false;
    if (!isValid(problem, place.dim, after))
      return false;
    int64_t n = problem.shape[place.dim], shards = 1, before = 1;
    for (const Split &split : after)
      shards *= split.size;
    before = shards / added.size;
    if (n % shards == 0)
      return true;
    return isContiguous(after) && added.pre == before && linesUp(problem, place.dim, before, shards);
  }

  /// These splits of `dim` (indices into splits[dim]) may leave.
  bool mayLeave(int dim, llvm::ArrayRef<int> leaving) const {
    llvm::SmallVector<Split, 8> rest;
    for (auto [i, split] : llvm::enumerate(splits[dim]))
      if (!llvm::is_contained(leaving, int(i)))
        rest.push_back(split);
    if (rest.empty())
      return true;
    if (!isValid(problem, dim, rest))
      return false;
    int64_t shards = 1, left = 1;
    for (const Split &split : splits[dim])
      shards *= split.size;
    for (const Split &split : rest)
      left *= split.size;
    if (problem.shape[dim] % shards == 0)
      return true;
    return isContiguous(rest) && linesUp(problem, dim, left, shards);
  }

  /// Where on `dim` it can make sense to put `digit`: its goal, after the present axes, after the goal's
  /// axes, at the minor end.
  llvm::SmallVector<DigitUse, 4> placesOn(int digit, int dim) const {
    llvm::SmallVector<DigitUse, 4> places;
    auto add = [&](int64_t pre) {
      DigitUse place = {dim, pre};
      if (!llvm::is_contained(places, place) && isFree(digit, place))
        places.push_back(place);
    };
    if (problem.goal[digit].dim == dim)
      add(problem.goal[digit].pre);
    add(endOf(dim));
    if (problem.options.strided) {
      add(shardsOf(problem, problem.goal, dim));
      if (problem.shape[dim] % problem.size(digit) == 0)
        add(problem.shape[dim] / problem.size(digit));
    }
    if (problem.wide) // in the place of another digit, which takes it over later
      for (const Split &wanted : splitsOf(problem, problem.goal, dim))
        add(wanted.pre);
    return places;
  }

  void add(StepKind kind, State after, double received) {
    if (limitMemory && localSize(problem, after) > problem.maxLocal)
      return;
    moves.push_back({kind, std::move(after), received});
  }

  void slices() {
    for (int i = 0; i < int(state.size()); ++i) {
      bool wanted = problem.goal[i].split();
      // An axis that the goal does not use helps while there is something to sum up: each takes a share, to
      // be gathered later. Elsewhere too where pieces change places that are gathered anyway, but seldom.
      if (state[i].dim != DigitUse::kUnused || problem.goal[i].dim == DigitUse::kPartial ||
          (!wanted && !sums && !problem.wide))
        continue;
      for (int d = 0; d < problem.rank(); ++d)
        for (const DigitUse &place : placesOn(i, d)) {
          State after = state;
          after[i] = place;
          add(StepKind::AllSlice, after, 0);
        }
    }
    // All axes of a dimension at once: needed where it does not divide.
    for (int d = 0; d < problem.rank(); ++d) {
      auto want = splitsOf(problem, problem.goal, d);
      if (want.size() < 2 || !splits[d].empty() ||
          llvm::any_of(want, [&](const Split &split) { return state[split.digit].dim != DigitUse::kUnused; }))
        continue;
      State after = state;
      for (const Split &split : want)
        after[split.digit] = problem.goal[split.digit];
      add(StepKind::AllSlice, after, 0);
    }
  }

  void gather(int dim, llvm::ArrayRef<int> leaving) {
    if (leaving.empty() || !mayLeave(dim, leaving))
      return;
    State after = state;
    double group = 1;
    for (int i : leaving) {
      after[splits[dim][i].digit] = DigitUse();
      group *= double(problem.size(splits[dim][i].digit));
    }
    // Pieces travel with their padding: a row of one over two ranks is not for nothing.
    add(StepKind::AllGather, std::move(after), local * (group - 1));
  }

  void gathers() {
    for (int d = 0; d < problem.rank(); ++d) {
      int count = int(splits[d].size());
      llvm::SmallVector<int> suffix, misplaced;
      for (int i = count - 1; i >= 0; --i) {
        suffix.insert(suffix.begin(), i);
        const Split &split = splits[d][i];
        bool wrong = state[split.digit] != problem.goal[split.digit];
        if (wrong) {
          misplaced.push_back(i);
          if (problem.options.strided && suffix.size() > 1)
            gather(d, {i});
        }
        if (!problem.options.strided || wrong || problem.shape[d] % shardsOf(problem, state, d) != 0)
          gather(d, suffix);
      }
      if (problem.options.strided && misplaced.size() > 1)
        gather(d, misplaced);
    }
  }

  void reductions() {
    llvm::SmallVector<int> partial;
    for (int i = 0; i < int(state.size()); ++i)
      if (state[i].dim == DigitUse::kPartial && problem.goal[i].dim != DigitUse::kPartial)
        partial.push_back(i);
    auto reduce = [&](llvm::ArrayRef<int> digits) {
      State after = state;
      double group = 1;
      for (int i : digits) {
        after[i] = DigitUse();
        group *= double(problem.size(i));
      }
      add(StepKind::AllReduce, after, 2 * local * (group - 1) / group);
    };
    reduce(partial);
    for (int i : partial) {
      if (partial.size() > 1)
        reduce({i});
      for (int d = 0; d < problem.rank(); ++d)
        for (const DigitUse &place : placesOn(i, d)) {
          State after = state;
          after[i] = place;
          add(StepKind::ReduceScatter, after, localSize(problem, after) * double(problem.size(i) - 1));
        }
    }
  }

  /// One all_to_all that takes every digit of `digits` to its place.
  void exchange(llvm::ArrayRef<std::pair<int, DigitUse>> digits) {
    State after = state;
    double group = 1, piece = local;
    for (auto &[i, place] : digits) {
      after[i] = place;
      group *= double(problem.size(i));
    }
    for (int d = 0; d < problem.rank(); ++d) {
      llvm::SmallVector<int> leaving;
      int64_t come = 1, stay = 1;
      for (auto [index, split] : llvm::enumerate(splits[d])) {
        if (after[split.digit] != state[split.digit])
          leaving.push_back(int(index));
        stay *= split.size;
      }
      for (auto &[i, place] : digits)
        if (place.dim == d)
          come *= problem.size(i);
      if (!leaving.empty() && !mayLeave(d, leaving))
        return;
      if (come == 1)
        continue;
      // The places were free one by one; together, and without those who leave, they must still be a
      // sharding.
      if (!isValid(problem, d, splitsOf(problem, after, d)))
        return;
      if (problem.shape[d] % (stay * come) != 0 &&
          (!leaving.empty() || !linesUp(problem, d, stay, stay * come)))
        return;
      piece = piece / double((problem.shape[d] + stay - 1) / stay) *
              double((problem.shape[d] + stay * come - 1) / (stay * come));
    }
    add(StepKind::AllToAll, std::move(after), piece * (group - 1));
  }

  /// The minor-most axes of one dimension become the minor-most of another, in their order.
  void plainExchanges() {
    for (int from = 0; from < problem.rank(); ++from)
      for (int to = 0; to < problem.rank(); ++to) {
        if (from == to)
          continue;
        for (int first = int(splits[from].size()) - 1; first >= 0; --first) {
          llvm::SmallVector<std::pair<int, DigitUse>, 4> digits;
          int64_t pre = endOf(to);
          for (const Split &split : llvm::drop_begin(splits[from], first)) {
            digits.push_back({split.digit, {to, pre}});
            pre *= split.size;
          }
          exchange(digits);
        }
      }
  }

  void stridedExchanges() {
    llvm::SmallVector<std::pair<int, DigitUse>, 8> direct;
    for (int i = 0; i < int(state.size()); ++i)
      if (state[i].split() && problem.goal[i].split() && state[i] != problem.goal[i] &&
          isFree(i, problem.goal[i]))
        direct.push_back({i, problem.goal[i]});
    // All sets of digits that can go home now; of many digits, all, all but one, and single ones.
    unsigned n = unsigned(direct.size());
    if (n > 0 && n <= 5) {
      for (unsigned set = 1; set < (1u << n); ++set) {
        llvm::SmallVector<std::pair<int, DigitUse>, 8> chosen;
        for (unsigned i = 0; i < n; ++i)
          if (set >> i & 1)
            chosen.push_back(direct[i]);
        exchangeTogether(chosen);
      }
    } else if (n > 5) {
      exchangeTogether(direct);
      for (unsigned i = 0; i < n; ++i) {
        exchange({direct[i]});
        auto rest = direct;
        rest.erase(rest.begin() + i);
        exchangeTogether(rest);
      }
    }
    // A detour for one digit, alone or along with those going home.
    for (int i = 0; i < int(state.size()); ++i) {
      if (!state[i].split() || state[i] == problem.goal[i] || (!problem.goal[i].split() && !problem.wide))
        continue;
      for (int d = 0; d < problem.rank(); ++d)
        for (const DigitUse &place : placesOn(i, d)) {
          if (place == problem.goal[i])
            continue;
          exchange({{i, place}});
          llvm::SmallVector<std::pair<int, DigitUse>, 8> together = {{i, place}};
          for (auto &entry : direct)
            if (entry.first != i)
              together.push_back(entry);
          if (together.size() > 1)
            exchangeTogether(together);
        }
    }
  }

  /// exchange(), if the destinations do not touch each other.
  void exchangeTogether(llvm::ArrayRef<std::pair<int, DigitUse>> digits) {
    if (digits.size() > 1 && !problem.options.jointAllToAll)
      return;
    for (int d = 0; d < problem.rank(); ++d) {
      auto all = splits[d];
      for (auto &[i, place] : digits)
        if (place.dim == d)
          all.push_back({place.pre, problem.size(i), i});
      llvm::sort(all, [](const Split &a, const Split &b) { return a.pre < b.pre; });
      for (size_t i = 1; i < all.size(); ++i)
        if (all[i].pre % all[i - 1].end() != 0)
          return;
    }
    exchange(digits);
  }

  /// Every device gets what it lacks from one that has it: at most all that it wants.
  void sends() {
    if (sums || !toStrided(problem, state).isPlain())
      return;
    addSend(problem.goal);
    if (state != problem.start || problem.receivedFromStart == 0 || moves.empty() ||
        moves.back().kind != StepKind::GroupedSend)
      return;
    moves.back().received = problem.receivedFromStart;
    moves.back().sent = problem.sentFromStart;
  }

  void addSend(const State &after) {
    double received = localSize(problem, after);
    size_t count = moves.size();
    add(StepKind::GroupedSend, after, received);
    if (moves.size() == count)
      return;
    moves.back().messages = messagesTo(after);
    // A device sends what it has, as far as anybody in its group wants it, to all copies there.
    double sent = 1;
    llvm::SmallVector<int64_t, 4> apart(size_t(problem.rank()), 1);
    for (int i = 0; i < int(state.size()); ++i) {
      if (state[i].split() && !after[i].split())
        sent *= double(problem.size(i));
      if (!state[i].split() && after[i].split())
        apart[size_t(after[i].dim)] *= problem.size(i);
    }
    for (int d = 0; d < problem.rank(); ++d)
      sent *= double(std::min(extentOf(problem, state, d),
                              (problem.shape[d] + apart[size_t(d)] - 1) / apart[size_t(d)]));
    moves.back().sent = sent;
  }

  /// Old pieces that a new one touches; sendMessages says the same of shardings.
  double messagesTo(const State &after) const {
    double messages = 1;
    for (int d = 0; d < problem.rank(); ++d)
      messages *=
          double(touchedPieces(problem.shape[d], extentOf(problem, state, d), extentOf(problem, after, d)));
    return messages;
  }

  /// While something is to be summed up: all idle axes at once take a share, whether they divide the
  /// dimension or not. From a dimension that nobody splits that is a slice, else everybody is sent its share
  /// of the terms.
  void spread() {
    if (!toStrided(problem, state).isPlain())
      return;
    for (int d = 0; d < problem.rank(); ++d)
      for (bool goalFirst : {true, false}) {
        llvm::SmallVector<int, 12> idle;
        for (int i = 0; i < int(state.size()); ++i)
          if (state[i].dim == DigitUse::kUnused && problem.goal[i].dim != DigitUse::kPartial)
            idle.push_back(i);
        auto rank = [&](int i) {
          return std::make_tuple((problem.goal[i].dim == d) != goalFirst,
                                 problem.goal[i].dim == d ? problem.goal[i].pre : 0, i);
        };
        llvm::sort(idle, [&](int a, int b) { return rank(a) < rank(b); });
        State after = state;
        int64_t pre = endOf(d), taken = 0;
        for (int i : idle) {
          if (pre >= problem.shape[d])
            break;
          after[i] = {d, pre};
          pre *= problem.size(i);
          ++taken;
        }
        if (taken < (splits[d].empty() ? 2 : 1)) // a slice by one is among the others
          continue;
        if (splits[d].empty())
          add(StepKind::AllSlice, after, 0);
        else if (problem.sends)
          addSend(after);
      }
    if (problem.sends)
      if (State after = goalWithoutSums(); after != state)
        addSend(after);
  }

  /// As in the goal, but what is to be summed up, and everything packed towards the major end.
  State goalWithoutSums() const {
    State after = state;
    for (int d = 0; d < problem.rank(); ++d) {
      int64_t pre = 1;
      for (const Split &split : splitsOf(problem, problem.goal, d))
        if (state[split.digit].dim != DigitUse::kPartial) {
          after[split.digit] = {d, pre};
          pre *= split.size;
        }
    }
    for (int i = 0; i < int(state.size()); ++i)
      if (state[i].split() && !problem.goal[i].split())
        after[i] = DigitUse();
    return after;
  }

  /// A stretch of a dimension that is split without gaps: whoever splits it, the pieces are the same.
  struct Run {
    int dim;
    int64_t pre, end;
  };

  void permutes() {
    for (int d = 0; d < problem.rank(); ++d)
      for (const Split &split : splits[d]) {
        if (!runs.empty() && runs.back().dim == d && runs.back().end == split.pre)
          runs.back().end = split.end();
        else
          runs.push_back({d, split.pre, split.end()});
      }
    if (runs.empty())
      return;
    for (int i = 0; i < int(state.size()); ++i) {
      const DigitUse &goal = problem.goal[i];
      bool home =
          goal.split() && state[i].dim != DigitUse::kPartial && llvm::any_of(runs, [&](const Run &run) {
            return run.dim == goal.dim && goal.pre >= run.pre && goal.pre % run.pre == 0 &&
                   run.end % (goal.pre * problem.size(i)) == 0;
          });
      atHome.push_back(home);
    }
    State after = state;
    for (DigitUse &place : after)
      if (place.split())
        place = DigitUse();
    fill(0, runs[0].pre, after);
  }

  /// Fills run `index` from `pre` on: the digit that belongs there if there is one, else one without a home
  /// here.
  void fill(int index, int64_t pre, State &after) {
    if (fillings >= (problem.wide ? 24 : 6) || ++fillSteps > 300)
      return;
    if (pre == runs[index].end) {
      if (index + 1 < int(runs.size()))
        return fill(index + 1, runs[index + 1].pre, after);
      ++fillings;
      if (after != state)
        add(StepKind::CollectivePermute, after, local);
      return;
    }
    DigitUse here = {runs[index].dim, pre};
    auto tryDigit = [&](int i) {
      if (after[i].dim != DigitUse::kUnused || runs[index].end % (pre * problem.size(i)) != 0)
        return false;
      after[i] = here;
      fill(index, pre * problem.size(i), after);
      after[i] = DigitUse();
      return true;
    };
    for (int i = 0; i < int(state.size()); ++i)
      if (problem.goal[i] == here && atHome[i] && tryDigit(i))
        return;
    // Who is here now, then others in use, then unused.
    for (int pass = 0; pass < 3; ++pass)
      for (int i = 0; i < int(state.size()); ++i) {
        int rank = state[i] == here ? 0 : state[i].split() ? 1 : 2;
        if (rank == pass && !atHome[i] && state[i].dim != DigitUse::kPartial)
          tryDigit(i);
      }
  }

  const Problem &problem;
  const State &state;
  bool limitMemory;
  double local;
  bool sums = false;
  llvm::SmallVector<llvm::SmallVector<Split, 8>, 4> splits;
  llvm::SmallVector<Run, 4> runs;
  llvm::SmallVector<bool, 12> atHome;
  int fillings = 0, fillSteps = 0;
  std::vector<Move> moves;
};

} // namespace

std::vector<Move> reshard::movesFrom(const Problem &problem, const State &state, bool limitMemory) {
  return MoveGenerator(problem, state, limitMemory).run();
}
