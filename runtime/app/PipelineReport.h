// OUT info of a pipeline.
#ifndef TESSERA_RUNTIME_APP_PIPELINEREPORT_H
#define TESSERA_RUNTIME_APP_PIPELINEREPORT_H

#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::runtime {

// Its mesh, stages and lists: one line of JSON, or a page for people. Starts nothing.
std::string describePipeline(const StagePrograms &stages, const Driver &driver, bool json);
// The same of stages that generate text: they have no lists.
std::string describeGenerating(const StagePrograms &stages, const Driver &driver, bool json);

// What both say of the rank at a coordinate, by what its bytes are for; and to people.
nlohmann::ordered_json rankJson(const StagePrograms &stages, int64_t at, const Driver &driver);
std::string rankText(int64_t at, const nlohmann::ordered_json &rank);
// Weights that several stages hold a copy of each: of a tied table its rows and the head. And to people.
nlohmann::ordered_json sharedJson(const StagePrograms &stages);
std::string sharedText(const nlohmann::ordered_json &shared);
// Held, computed, accumulated, cached: of one copy of each stage, with the caches of all groups of rows.
nlohmann::ordered_json numbersJson(const StagePrograms &stages, const Driver &driver);
// `layers 3 to 5`, `layer 3`, `no layers`.
std::string layersText(const PipelineSpec::Stage &stage);

} // namespace tessera::runtime
#endif
