//===- Chart.h - Lines over steps as SVG ------------------------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_PLOT_CHART_H
#define TESSERA_RUNTIME_PLOT_CHART_H

#include "tessera/runtime/plot/Plot.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::plot {

/// One line of a chart: points by rising step; a value that is not finite interrupts it.
struct Series {
  std::string name;
  size_t colour = 0; ///< number of the run
  bool dashed = false;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title, id;
  std::vector<Series> series;
};

/// At most `most` points in their order: of neighbours the least and the greatest, and every interruption.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>> &points,
                                               size_t most);

std::string escapeMarkup(const std::string &text);
/// 1250000 -> "1.25M", 0.0003 -> "0.0003".
std::string shortNumber(double value);

/// A panel with title and drawing; says so where there is nothing to draw.
std::string chartMarkup(const Chart &chart);

} // namespace tessera::plot
#endif
