#include "tessera/runtime/cli/CommandTable.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace tessera::cli {

// Letters to change, put in, take out or swap with their neighbour to make one of the other.
static size_t editDistance(std::string_view a, std::string_view b) {
  // Of the row before the last one, of the last one, and of this one: what the first letters of `b` take.
  std::vector<size_t> older(b.size() + 1), old(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    older.swap(old);
    old.swap(row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({old[j] + (a[i] != b[j]), row[j] + 1, old[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], older[j - 1] + 1);
    }
  }
  return row.back();
}

// Dashes are no likeness: all flags have them.
static std::string_view withoutDashes(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return name;
}

std::string nearestOf(const std::string &word, const std::vector<std::string> &known) {
  const std::string_view written = withoutDashes(word);
  const std::string *begun = nullptr, *nearest = nullptr;
  size_t least = 4;
  for (const std::string &name : known) {
    const std::string_view whole = withoutDashes(name);
    // One letter is the first of too many.
    if (written.size() > 1 && whole.substr(0, written.size()) == written &&
        (!begun || name.size() < begun->size()))
      begun = &name;
    // Farther away, or half of the name, is no slip of the finger.
    const size_t distance = editDistance(written, whole);
    if (distance < least && 2 * distance < whole.size()) {
      least = distance;
      nearest = &name;
    }
  }
  const std::string *found = begun ? begun : nearest;
  return found ? *found : "";
}

} // namespace tessera::cli
