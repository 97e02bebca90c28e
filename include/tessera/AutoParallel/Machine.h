//===- Machine.h - What a cluster can do, and what steps cost ---*- C++ -*-===//
//
// Plain data: compute and memory speed of one rank, how many ranks share a node, and the links within nodes
// and between them. One cost model, used to choose shardings, to plan reshards and to predict times in
// reports. Seconds, bytes, FLOP/s (a fused multiply-add counts two).
//
// JSON form (parseMachine), every field optional:
//   {"name": "two hosts", "cores": 4,
//    "flops": 2e10 or {"f32": 2e10, "bf16": 4e10, "f16": 2e10}, "memory_bandwidth": 1e11,
//    "link": {"latency": 1e-8, "bandwidth": 1e9}, "ranks_per_node": 8,
//    "between_nodes": {"latency": 1e-5, "bandwidth": 1e8},
//    "axes": {"tp": {"latency": 2e-6, "bandwidth": 1e10}}, "within": {"tp": 4}}
//
// Ranks lie on nodes in their order, the last axis of a mesh first: rank r on node r / ranks_per_node.
//
// The default is nominal: where nobody describes a machine, bytes decide. A message costs as much as 10
// bytes, so that of plans of equal bytes the one with fewer messages wins; a byte on a link costs as much as
// 100 of memory or 30 FLOPs, so that no plan sends more to save streaming through memory (terms of a sum that
// a few dozen ranks have are added up whole, then scattered), and none repeats a product with long sums to
// send less. What it predicts ranks plans; it is no forecast.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_MACHINE_H
#define TESSERA_AUTOPARALLEL_MACHINE_H

#include "tessera/AutoParallel/ReshardPlanner.h"

#include <array>
#include <map>

namespace tessera {

struct Link {
  double latency = 1e-8;  ///< seconds from one rank to another
  double bandwidth = 1e9; ///< bytes per second into one rank
  bool operator==(const Link &o) const { return latency == o.latency && bandwidth == o.bandwidth; }
};

/// What a rank computes in. Rates are of products of two such matrices.
enum class ComputeType { F32, BF16, F16 };
inline constexpr int kComputeTypes = 3;
/// `f32`, ...
llvm::StringRef toString(ComputeType type);

struct Machine {
  static constexpr const char *kNominal = "nominal", *kUnnamed = "unnamed";
  std::string name = kNominal;                                  ///< kUnnamed: described, without a name
  int64_t cores = 0;                                            ///< of a rank; 0: not known
  std::array<double, kComputeTypes> flops = {3e10, 3e10, 3e10}; ///< of one rank, by ComputeType
  double memoryBandwidth = 1e11;                                ///< bytes per second of one rank
  Link link;                                                    ///< within a node
  int64_t ranksPerNode = 0;                                     ///< 0: all ranks are on one node
  Link betweenNodes;                                            ///< of ranks on different nodes
  std::map<std::string, Link> axes; ///< of axes that have their own, within nodes and between them
  /// Neighbours along an axis that share a node, of axes of which that is said (lieOn).
  std::map<std::string, int64_t> within;

  double flopsOf(ComputeType type) const { return flops[size_t(type)]; }
  bool operator==(const Machine &o) const {
    return name == o.name && cores == o.cores && flops == o.flops && memoryBandwidth == o.memoryBandwidth &&
           link == o.link && ranksPerNode == o.ranksPerNode && betweenNodes == o.betweenNodes &&
           axes == o.axes && within == o.within;
  }

  /// Says of all axes of `mesh` how many neighbours share a node (`within`), but of those that say it
  /// themselves. Programs of a part of the mesh (of a pipeline's stage) then find it said.
  void lieOn(const Mesh &mesh);
  /// Neighbours along axis `index` of `mesh` that share a node: digits of the axis that divide it are within
  /// nodes.
  int64_t neighboursOnNode(const Mesh &mesh, int index) const;
  /// Whether groups over `axis` have ranks on several nodes.
  bool crossesNodes(const Mesh &mesh, const AxisRef &axis) const;
  /// The link that groups over `axis` talk over: the slower one, if some group has ranks on several nodes.
  const Link &linkOf(const Mesh &mesh, const AxisRef &axis) const;
  /// The minor digit of `axis` whose groups stay on nodes, and the major one between nodes; either may have
  /// size 1. Of an axis with a link of its own all is within.
  std::pair<AxisRef, AxisRef> cutAtNodes(const Mesh &mesh, const AxisRef &axis) const;
};

/// `h100:8`, and of a mesh that has more ranks than a node `h100:8, of which dp goes between nodes`: the
/// machine that a prediction is for.
std::string describeMachine(const Machine &machine, const Mesh &mesh);

/// None and `error` set if the text is no such JSON, or a number is out of range: rates and times are 1e-30
/// to 1e30, counts 1 to 2^20.
std::optional<Machine> parseMachine(llvm::StringRef json, std::string &error);
/// The same as JSON, on one line; parseMachine reads it back.
std::string toJson(const Machine &machine);

/// The machine that `text` names: `h100`, or `h100:4` with 4 GPUs a node (docs/Machines.md has their figures
/// and sources). None if it names none; `error` is set if it is wrong behind a known name.
std::optional<Machine> namedMachine(llvm::StringRef text, std::string &error);
/// `a100, h100, h200, b200`
std::string namesOfMachines();

/// Seconds for one step on elements of `elementBytes`: the bytes that the busiest rank receives, plus latency
/// for each of the log2(group) rounds, plus one element written, so that of plans that take alike the one
/// with fewer steps is less. In a ring all ranks wait for the slowest link of the group's axes; of an
/// all_to_all what comes from the same node comes over its link, and the rest over the other. Of grouped
/// sends every message has its latency, and bytes count kSendPenalty times. A contribution communicates
/// nothing: its elements are written once.
double stepTime(const Machine &machine, const Mesh &mesh, const ReshardStep &step, double elementBytes);
double planTime(const Machine &machine, const Mesh &mesh, const ReshardPlan &plan, double elementBytes);
/// The same of a collective over `axes` whose busiest rank receives so many bytes; no grouped send.
double collectiveTime(const Machine &machine, const Mesh &mesh, StepKind kind, llvm::ArrayRef<AxisRef> axes,
                      double bytes);

/// Seconds of work on one rank that does `fraction` of it.
double workTime(const Machine &machine, ComputeType type, double flops, double bytes, double fraction);

} // namespace tessera
#endif
