//===- Machine.h - What a cluster can do, and what steps cost ---*- C++ -*-===//
//
// Plain data: compute and memory speed of one device and, per mesh axis, the link that its groups talk over.
// One cost model, used to choose shardings, to plan reshards and to predict times in reports. Seconds, bytes,
// FLOP/s (a fused multiply-add counts two).
//
// JSON form, every field optional:
//   {"flops": 2e10, "memory_bandwidth": 1e11, "link": {"latency": 1e-8, "bandwidth": 1e9},
//    "axes": {"tp": {"latency": 2e-6, "bandwidth": 1e10}}}
//
// The default is nominal: where nobody describes a machine, bytes decide. A message costs as much as 10
// bytes, so that of plans of equal bytes the one with fewer messages wins; a byte on a link costs as much as
// 100 of memory or 20 FLOPs, so that no plan sends more to save streaming through memory (terms of a sum that
// a few dozen ranks have are added up whole, then scattered), and none repeats a product of matrices to send
// less. What it predicts ranks plans; it is no forecast.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_MACHINE_H
#define TESSERA_AUTOPARALLEL_MACHINE_H

#include "tessera/AutoParallel/ReshardPlanner.h"

#include <map>

namespace tessera {

struct Link {
  double latency = 1e-8;  ///< seconds from one rank to another
  double bandwidth = 1e9; ///< bytes per second into one rank
  bool operator==(const Link &o) const { return latency == o.latency && bandwidth == o.bandwidth; }
};

struct Machine {
  double flops = 2e10;           ///< of one rank
  double memoryBandwidth = 1e11; ///< bytes per second of one rank
  Link link;                     ///< of axes without their own
  std::map<std::string, Link> axes;

  const Link &linkOf(llvm::StringRef axis) const;
  bool operator==(const Machine &o) const {
    return flops == o.flops && memoryBandwidth == o.memoryBandwidth && link == o.link && axes == o.axes;
  }
};

/// None and `error` set if the text is no such JSON, or a number is not above 0 (1e-30 to 1e30 are taken).
std::optional<Machine> parseMachine(llvm::StringRef json, std::string &error);

/// Seconds for one step on elements of `elementBytes`: the bytes that the busiest rank receives over the
/// slowest link of its axes, plus that link's latency for each of the log2(group) rounds, plus one element
/// written, so that of plans that take alike the one with fewer steps is less. Of grouped sends every message
/// has its latency, and bytes count kSendPenalty times. A contribution communicates nothing: its elements are
/// written once.
double stepTime(const Machine &machine, const Mesh &mesh, const ReshardStep &step, double elementBytes);
double planTime(const Machine &machine, const Mesh &mesh, const ReshardPlan &plan, double elementBytes);

/// Seconds of work on one rank that does `fraction` of it.
double workTime(const Machine &machine, double flops, double bytes, double fraction);

} // namespace tessera
#endif
