//===- ScheduleFile.h - Lists that a person wrote ---------------*- C++ -*-===//
#ifndef TESSERA_LIB_PLANNER_SCHEDULEFILE_H
#define TESSERA_LIB_PLANNER_SCHEDULEFILE_H

#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/runtime/schedule/Schedule.h"

namespace tessera {

/// What --pipeline=FILE names, for `ranks` and the micro-batches that `options` says (0: any number). Fails
/// where it cannot run, and shows where on standard error.
Result<schedule::Schedule> readSchedule(const std::string &file, const CompileOptions &options,
                                        int32_t ranks);

} // namespace tessera
#endif
