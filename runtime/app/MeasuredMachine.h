// A machine as bench --machine writes it: what measured times come to, in the form that llm-compile reads
// (docs/Machines.md).
#ifndef TESSERA_RUNTIME_APP_MEASUREDMACHINE_H
#define TESSERA_RUNTIME_APP_MEASUREDMACHINE_H

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::runtime {

// Seconds of one round of messages, and bytes a second into a rank, as the compiler's cost model counts them:
// a collective of G ranks takes log2(G) rounds and the bytes that one of them receives.
struct MeasuredLink {
  double latency = 0, bandwidth = 0;
};

struct MeasuredMachine {
  std::string name;
  int64_t cores = 0;                        // of a rank
  double f32 = 0, bf16 = 0, f16 = 0;        // FLOP/s of a rank
  double memoryBandwidth = 0;               // of a rank
  MeasuredLink link;                        // within a node, if that has several ranks
  int64_t ranksPerNode = 0;                 // 0: all ranks are on one
  std::optional<MeasuredLink> betweenNodes; // if there are several nodes
};

// The link that two all_gathers show: of next to nothing, and of `bytes` from each of `ranks`. Of whatever
// times the clock gave, numbers above 0.
MeasuredLink linkOf(int64_t ranks, double secondsOfNothing, double bytes, double seconds);

// As JSON, on one line.
std::string toJson(const MeasuredMachine &machine);

} // namespace tessera::runtime
#endif
