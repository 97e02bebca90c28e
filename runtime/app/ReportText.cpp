#include "ReportText.h"

#include <algorithm>
#include <cstdio>

namespace tessera::runtime {

// So few that digits of megabytes would say nothing are counted.
std::string mega(double bytes) {
  if (bytes < 1e3)
    return counted(int64_t(bytes), "byte");
  char text[32];
  snprintf(text, sizeof text, bytes < 5e4 ? "%.4f MB" : "%.1f MB", bytes / 1e6);
  return text;
}

std::string milliseconds(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.4g ms", seconds * 1e3);
  return text;
}

std::string counted(int64_t n, const std::string &what) {
  const bool isSibilant = what.size() > 2 && what.compare(what.size() - 2, 2, "ch") == 0;
  return std::to_string(n) + " " + what + (n == 1 ? "" : isSibilant ? "es" : "s");
}

std::string column(std::string label) {
  label.resize(std::max<size_t>(label.size() + 1, 13), ' ');
  return label;
}

} // namespace tessera::runtime
