//===- CloseChoices.cpp - Choices that rounding may turn ------------------===//
#include "tessera/Reference/CloseChoices.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace tessera {

void CloseChoices::begin(Run next) {
  run = next;
  this->next = 0;
  if (run == Run::Exact)
    choices.clear();
}

void CloseChoices::see(llvm::MutableArrayRef<double> row, int64_t count, std::mt19937_64 &dice) {
  if (run == Run::Exact) {
    Choice made{{row.begin(), row.end()}, std::numeric_limits<double>::infinity()};
    std::vector<double> sorted = made.row;
    // What is no number has no order, and rounding makes none of it.
    if (count < int64_t(row.size()) && llvm::none_of(row, [](double x) { return std::isnan(x); })) {
      std::partial_sort(sorted.begin(), sorted.begin() + count + 1, sorted.end(), std::greater<>());
      made.margin = sorted[size_t(count - 1)] - sorted[size_t(count)];
    }
    choices.push_back(std::move(made));
    return;
  }
  // A branch may have gone the other way, whose choices the first run did not make.
  if (next == choices.size() || choices[next].row.size() != row.size())
    return;
  Choice &choice = choices[next++];
  if (run == Run::Rounded) {
    double most = 0;
    for (auto [exact, rounded] : llvm::zip_equal(choice.row, row))
      if (std::isfinite(exact) && std::isfinite(rounded))
        most = std::max(most, std::abs(rounded - exact));
    // In some runs an earlier choice has turned, which moves this row as rounding does not: what half of the
    // runs have. Where it turns later on, the row follows from that.
    choice.moved.insert(llvm::upper_bound(choice.moved, most), most);
    choice.reach = 4 * choice.moved[choice.moved.size() / 2];
    return;
  }
  if (choice.isClose())
    for (double &x : row)
      x += dice() % 2 ? choice.reach : -choice.reach;
}

int64_t CloseChoices::close() const {
  return llvm::count_if(choices, [](const Choice &choice) { return choice.isClose(); });
}

void CloseChoices::turnClosest() {
  if (choices.empty())
    return;
  Choice &closest = *std::min_element(choices.begin(), choices.end(), [](const Choice &a, const Choice &b) {
    return a.margin - 2 * a.reach < b.margin - 2 * b.reach;
  });
  if (std::isfinite(closest.margin))
    closest.reach = std::max(closest.reach, closest.margin); // more than a tie, which the index would decide
}

} // namespace tessera
