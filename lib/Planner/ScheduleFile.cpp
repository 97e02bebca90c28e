//===- ScheduleFile.cpp - Lists that a person wrote -----------------------===//
#include "ScheduleFile.h"

#include "tessera/Planner/PipelinePlan.h"
#include "tessera/Support/TextFile.h"

#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include "llvm/Support/raw_ostream.h"

namespace tessera {

Result<schedule::Schedule> readSchedule(const std::string &file, const CompileOptions &options,
                                        int32_t ranks) {
  constexpr uint64_t kLargest = 64 << 20; // three million actions
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(file, kLargest, why);
  if (!buffer)
    return badFlag("--pipeline=" + file, "the file cannot be read: " + why,
                   "name a file with lists of actions, or a schedule");
  Result<schedule::Schedule> read =
      schedule::parseSchedule({buffer->getBufferStart(), buffer->getBufferSize()}, file);
  if (!read)
    return read;
  schedule::Schedule lists = schedule::scheduleOf(read->ranks);
  if (lists.numRanks() != ranks)
    return badFlag("--pipeline=" + file,
                   "it has lists of " + std::to_string(lists.numRanks()) + " ranks, and the axis pp has " +
                       std::to_string(ranks),
                   lists.numRanks() > 1 ? "give --mesh=pp=" + std::to_string(lists.numRanks())
                                        : "give a list for each of them");
  for (int32_t rank = 0; rank < ranks; ++rank)
    if (std::find(lists.rankOfStage.begin(), lists.rankOfStage.end(), rank) == lists.rankOfStage.end())
      return badFlag("--pipeline=" + file,
                     "r" + std::to_string(rank) + " computes no stage: it would idle for the whole step",
                     "give each rank a stage, or the mesh fewer ranks along pp");
  if (options.microBatches && lists.microBatches != options.microBatches)
    return badFlag("--pipeline=" + file,
                   "it is for " + std::to_string(lists.microBatches) + " micro-batches, and a step has " +
                       std::to_string(options.microBatches),
                   "give --micro-batches=" + std::to_string(lists.microBatches));
  for (const schedule::ActionList &list : lists.ranks)
    for (const schedule::Action &action : list)
      if (schedule::ofWholeStage(action.kind))
        return badFlag("--pipeline=" + file,
                       "it has " + schedule::toString(action) + ", and weights are gathered in each layer",
                       "leave out actions of whole stages");
  if (std::optional<schedule::Problem> problem = schedule::validate(lists)) {
    llvm::errs() << schedule::grid(lists, *problem);
    return badFlag("--pipeline=" + file, "it cannot run: " + problem->why, "mend the lists");
  }
  return lists;
}

} // namespace tessera
