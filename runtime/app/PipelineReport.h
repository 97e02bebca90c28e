// OUT info of a pipeline.
#ifndef TESSERA_RUNTIME_APP_PIPELINEREPORT_H
#define TESSERA_RUNTIME_APP_PIPELINEREPORT_H

#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

#include <string>

namespace tessera::runtime {

// Its mesh, stages and lists: one line of JSON, or a page for people. Starts nothing.
std::string describePipeline(const StagePrograms &stages, const Driver &driver, bool json);
// The same of stages that generate text: they have no lists.
std::string describeGenerating(const StagePrograms &stages, const Driver &driver, bool json);

} // namespace tessera::runtime
#endif
