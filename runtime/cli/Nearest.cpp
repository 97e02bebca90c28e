#include "tessera/runtime/cli/CommandTable.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::cli {

// Letters to change, put in or take out to make one of the other.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string nearestOf(const std::string &word, const std::vector<std::string> &known) {
  std::string nearest;
  size_t least = 4;
  for (const std::string &name : known) {
    // Farther away, or half of the name, is no slip of the finger.
    size_t distance = editDistance(word, name);
    if (distance < least && 2 * distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

} // namespace tessera::cli
