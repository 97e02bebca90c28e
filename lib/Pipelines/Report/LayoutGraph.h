//===- LayoutGraph.h - Boxes and lines of a layered graph -------*- C++ -*-===//
//
// Layered drawing from top to bottom, after Sugiyama: ranks by longest path, long lines through points of
// their own in every rank they cross, order within a rank by barycenters, positions by least squares under
// that order. No box overlaps another, and no line a box. Units: CSS pixels.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINES_REPORT_LAYOUTGRAPH_H
#define TESSERA_LIB_PIPELINES_REPORT_LAYOUTGRAPH_H

#include <utility>
#include <vector>

namespace tessera::report {

struct Box {
  double width = 0, height = 0; ///< given
  double x = 0, y = 0;          ///< of its upper left corner; the result
};

struct Line {
  int from = 0, to = 0; ///< given; from < to
  /// From the lower side of one box to the upper side of the other, through pairs of points (top and bottom
  /// of a rank) between.
  std::vector<std::pair<double, double>> points;
};

struct GraphDrawing {
  std::vector<Box> boxes;
  std::vector<Line> lines;
  double width = 0, height = 0; ///< the result; everything lies within
};

/// Fills in the results. Cost: linear in boxes plus the ranks that lines cross.
void layOut(GraphDrawing &layout);

} // namespace tessera::report
#endif
