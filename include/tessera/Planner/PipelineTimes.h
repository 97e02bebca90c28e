//===- PipelineTimes.h - What a pipeline's parts are predicted to take ------*- C++ -*-===//
#ifndef TESSERA_PLANNER_PIPELINETIMES_H
#define TESSERA_PLANNER_PIPELINETIMES_H

#include "tessera/Planner/PipelineProbe.h"

#include "tessera/AutoParallel/Machine.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/runtime/schedule/Predict.h"

namespace tessera {

/// Values that are sent, at least: the next one can be made while one is under way.
constexpr int32_t kSendBuffers = 2;

/// Of a message of `bytes` from one rank to another, and the part of it in which no other one goes that way.
double secondsOfMessage(const Link &link, double bytes);
double secondsOnWire(const Link &link, double bytes);
/// What each stage's message with a token takes; of the last one the tokens' way to all.
std::vector<double> secondsOfTokens(const std::vector<StageFigures> &stages, const Link &link);
/// The link that stages of `pipeline` are joined by, on the machine that their programs are for.
Link linkOf(dist::PipelineOp pipeline);

/// Seconds by what is done, a number a stage, and of links one for each two neighbours: what the manifest has
/// (docs/Manifest.md). `coordinates`: where the stages lie.
using StageTimes = std::map<std::string, std::vector<double>>;
StageTimes timesOf(const std::vector<StageFigures> &stages, const std::vector<int64_t> &coordinates,
                   Task task, const Link &link);

/// As few as let no send of the lists wait, with what stages are predicted to take, and kSendBuffers at
/// least.
int32_t sendBuffersOf(const schedule::Schedule &lists, const StageTimes &times);

/// Writes into the dist.pipeline of `module`, whose stages are on rung spmd, what each stage and each link is
/// predicted to take (`times`), and, for lists, how many values that are sent a rank holds (`send_buffers`).
/// Nothing where there is none.
void writePipelineTimes(mlir::ModuleOp module, const CompileOptions &options);

/// What writePipelineTimes has written.
StageTimes readTimes(dist::PipelineOp pipeline);
/// The lists that the table has; none where the stages generate.
std::optional<schedule::Schedule> readLists(dist::PipelineOp pipeline);
/// Of a step of the lists, with the times and the buffers of the table.
schedule::StepPrediction predictStep(dist::PipelineOp pipeline, const schedule::Schedule &lists);

} // namespace tessera
#endif
