//===- SavedValues.h - What backward has from forward -----------*- C++ -*-===//
//
// Backward needs values that forward made. Each is saved, which takes memory, or made again from others,
// which takes time. Plain data: a graph of values and of the ops that make them; docs/Memory.md.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SAVED_SAVEDVALUES_H
#define TESSERA_ANALYSIS_SAVED_SAVEDVALUES_H

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tessera {

struct SavedProblem {
  /// Of a value that cannot be saved.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  struct Value {
    int64_t bytes = 0; ///< if it is saved; 0: it is there anyway
    int maker = -1;    ///< the op that gives it; -1: none that could run again
  };
  struct Op {
    int64_t time = 0;       ///< of running again, in any unit
    std::vector<int> reads; ///< values, made by ops before this one
  };
  std::vector<Value> values;
  std::vector<Op> ops; ///< operands first
  std::vector<int> needed;
};

struct SavedChoice {
  std::vector<bool> saved; ///< of each value
  std::vector<bool> again; ///< of each op: it runs again
  int64_t bytes = 0;       ///< of what is saved
  int64_t time = 0;        ///< of what runs again
};

/// All choices that are worth making: each takes less time than any with as few bytes.
///
/// What backward needs is there for the ops that run again, too, so only values that it does not need tie
/// decisions together. The problem falls apart into pieces, most of one op; the frontiers of pieces are added
/// up. That of a piece comes from branch and bound over its ops that take time, with the least cut at the
/// best price of a byte as bound. Deterministic.
class SavedFrontier {
public:
  /// `most` points are kept, evenly over the bytes, and `work` branches taken for a point: where more would
  /// be needed the frontier is not exact, but each of its choices is what it says. What is needed can be had.
  explicit SavedFrontier(const SavedProblem &problem, size_t most = 4096, int64_t work = 20000);

  struct Point {
    int64_t bytes, time;
  };
  /// From the fewest bytes to the least time, at least one. Bytes rise and times fall.
  const std::vector<Point> &points() const { return points_; }
  SavedChoice choice(size_t point) const;
  /// The point with the least time that has at most so many bytes; none: the first has more.
  std::optional<size_t> within(int64_t bytes) const;
  bool isExact() const { return isExact_; }

private:
  struct Piece {
    std::vector<int> values, ops;     ///< numbers in the problem
    std::vector<SavedChoice> choices; ///< its frontier
  };
  /// A point of the sum of some pieces.
  struct Sum {
    int64_t bytes, time;
    size_t before, choice; ///< the point of the sum without the last piece, and that piece's choice
  };
  std::vector<Piece> cutApart(const SavedProblem &problem) const;
  void findChoices(const SavedProblem &problem, Piece &piece, size_t most, int64_t work);
  void add(const Piece &piece, size_t most);

  size_t numValues, numOps;
  std::vector<Piece> pieces;
  std::vector<std::vector<Sum>> sums; ///< of the first piece, of two, ...
  std::vector<Point> points_;
  bool isExact_ = true;
};

} // namespace tessera
#endif
