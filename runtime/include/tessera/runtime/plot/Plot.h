// Logs of training runs as one page for a browser.
#ifndef TESSERA_RUNTIME_PLOT_PLOT_H
#define TESSERA_RUNTIME_PLOT_PLOT_H

#include "tessera/runtime/train/TrainingLog.h"

namespace tessera::plot {

using train::LogLine;

struct NamedLog {
  std::string name;
  std::vector<LogLine> lines; // steps rise
};

// The page: loss, gradient norm, learning rate and tokens a second over steps, every run a line in each
// chart, and a table of the runs. One HTML text: no network, readable without scripts, which only show
// values under the pointer. Its size does not grow with the number of steps: of more than 600 a chart shows
// least and greatest of neighbours.
std::string plotPage(const std::vector<NamedLog> &runs);

// The parts of the files' paths that tell them apart: "a/log.jsonl", "b/log.jsonl" are a and b.
std::vector<std::string> shortNames(const std::vector<std::string> &paths);

// Values between `least` and `greatest` for an axis: multiples of 1, 2 or 5 times a power of ten, about
// `count` of them. least < greatest.
std::vector<double> axisTicks(double least, double greatest, int count);

} // namespace tessera::plot
#endif
