// The named schedules, for any number of ranks, micro-batches and stages a rank; docs/Schedules.md has their
// rules and papers.
#ifndef TESSERA_RUNTIME_SCHEDULE_GENERATE_H
#define TESSERA_RUNTIME_SCHEDULE_GENERATE_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/schedule/Schedule.h"

#include <string_view>

namespace tessera::schedule {

enum class Name { GPipe, OneForwardOneBackward, LoopedBfs, Interleaved, ZeroBubble, ZeroBubbleV, DualPipeV };
constexpr int kNamedSchedules = int(Name::DualPipeV) + 1;

// gpipe, 1f1b, looped-bfs, interleaved, zb1p, zbv, dualpipev.
std::string_view scheduleName(Name name);
std::optional<Name> scheduleFromName(std::string_view text);
// All of them, with commas between: for messages.
std::string scheduleNames();

// Rank r owns stages r and 2p-1-r; otherwise stage s lies on rank s mod p.
constexpr bool isVShaped(Name name) { return name == Name::ZeroBubbleV || name == Name::DualPipeV; }
// Any number of stages a rank. The others have one, those in form of a V two.
constexpr bool takesStagesPerRank(Name name) {
  return name == Name::LoopedBfs || name == Name::Interleaved || name == Name::ZeroBubble;
}

// Backwards are I and W, some or all of them.
constexpr bool splitsBackward(Name name) { return name == Name::ZeroBubble || isVShaped(name); }

// Most actions that are made: more are a mistake.
constexpr int64_t kMostActions = int64_t(1) << 24;

// Computing actions alone, lists of every rank; `stagesPerRank` 0 takes 2 for those in form of a V, else 1.
// Refuses sizes that the schedule does not have; says the least number of micro-batches where it needs more.
// Takes time and memory for each action, of which there are at most 3·p·v·m.
Result<Schedule> generate(Name name, int32_t ranks, int32_t microBatches, int32_t stagesPerRank = 0);

// What --pipeline=auto|NAME[:V]|FILE asks for: a name with stages a rank (0 where none are given), or a file,
// or neither (auto). What is no name and has neither `/` nor `.` is refused.
struct PipelineChoice {
  std::optional<Name> name;
  int32_t stagesPerRank = 0;
  std::string file;
  bool isAuto() const { return !name && file.empty(); }
};
// More stages a rank are refused: no model has so many layers.
inline constexpr int32_t kMostStagesPerRank = 256;
Result<PipelineChoice> parsePipelineChoice(std::string_view text);

} // namespace tessera::schedule
#endif
