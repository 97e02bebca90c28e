// What the ranks of this run can compute at most: the measure of MFU.
#ifndef TESSERA_RUNTIME_APP_PEAKFLOPS_H
#define TESSERA_RUNTIME_APP_PEAKFLOPS_H

#include "tessera/runtime/device/Rank.h"

#include <optional>
#include <string>

namespace tessera::runtime {

// FLOPs a second that all ranks reach together, each with its threads, in products of the types that most of
// the program's products have: the best of three windows of 25 ms in which all of them multiply. Every rank
// calls it; the same on all.
double measurePeakFlops(Rank &rank);
// The same of products of these types.
double measureFlops(Rank &rank, io::DType x, io::DType w, io::DType y);

// The share of `peak` that `tokensPerSecond` take of what the model needs for them; NAN: the program does not
// say what it needs.
double modelFlopsUtilization(const TrainSpec &spec, double tokensPerSecond, double peak);

// Throws Error where --peak-flops was given to a program that has no use for it.
void checkPeakFlops(const std::string &what, const Manifest &manifest, const std::optional<double> &given);

} // namespace tessera::runtime
#endif
