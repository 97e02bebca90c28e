//===- PipelineExplain.cpp ------------------------------------------------===//
#include "tessera/Planner/PipelineExplain.h"

#include "tessera/Planner/PipelineTimes.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Entries.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera {

static SmallVector<dist::StageAttr> stagesOf(ModuleOp module) {
  SmallVector<dist::StageAttr> stages;
  for (auto pipeline : module.getOps<dist::PipelineOp>())
    llvm::append_range(stages, pipeline.getStages().getAsRange<dist::StageAttr>());
  return stages;
}

static std::string layersText(dist::StageAttr stage) {
  if (stage.getLayers() == 0)
    return "none";
  return std::to_string(stage.getFirst()) + " to " + std::to_string(stage.getFirst() + stage.getLayers() - 1);
}

std::vector<StageProgram> stagePrograms(ModuleOp module) {
  llvm::MapVector<StringRef, std::pair<std::string, std::string>> texts; // numbers, layers
  for (auto [number, stage] : llvm::enumerate(stagesOf(module))) {
    auto &[numbers, layers] = texts[stage.getProgram().getValue()];
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
    layers += (layers.empty() ? "" : ", ") + layersText(stage);
  }
  std::vector<StageProgram> programs;
  for (auto &[name, text] : texts) {
    const bool isOne = text.first.find(',') == std::string::npos;
    programs.push_back({(isOne ? "stage " : "stages ") + text.first + " (layers " + text.second + ")",
                        cast<ModuleOp>(module.lookupSymbol<ModuleOp>(name)->clone())});
  }
  return programs;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// What `stage` gives by `gives` in its entry for a micro-batch, or a chunk.
static void readChannels(ModuleOp stage, graph::Gives gives, ChannelExplanation channel, DictionaryAttr whys,
                         const Link &link, int64_t microBatches, std::vector<ChannelExplanation> &channels) {
  for (auto entry : stage.getOps<func::FuncOp>()) {
    auto role = entry->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
    if (!role || (role.getValue() != graph::Role::Train && role.getValue() != graph::Role::Prompt &&
                  role.getValue() != graph::Role::Next))
      continue;
    channel.executions = role.getValue() == graph::Role::Train ? microBatches : 1;
    bool isFirst = true;
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      if (graph::givesOf(entry, i) != gives)
        continue;
      StringRef value = graph::resultName(entry, i);
      channel.value = value.str();
      auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
      channel.type.clear();
      llvm::raw_string_ostream os(channel.type);
      for (int64_t size : type.getShape())
        os << size << "x";
      os << type.getElementType();
      channel.bytes = arrayBytes(type);
      // All values that a stage gives a neighbour travel as one message.
      const auto bytes = double(channel.bytes);
      channel.seconds = channel.staysOnRank ? 0
                        : isFirst           ? secondsOfMessage(link, bytes)
                                            : secondsOnWire(link, bytes);
      isFirst = false;
      value.consume_front(graph::kGradientPrefix);
      auto why = whys ? whys.getAs<StringAttr>(value) : StringAttr();
      channel.why = why ? why.str() : "";
      if (gives == graph::Gives::SentGradient)
        channel.why =
            "the gradient of " + value.str() + ", which stage " + std::to_string(channel.to) + " sent";
      if (role.getValue() == graph::Role::Next)
        channel.value += " (a token a row)";
      channels.push_back(channel);
    }
  }
}

std::vector<ChannelExplanation> explainChannels(ModuleOp module, const CompileOptions &options) {
  std::vector<ChannelExplanation> channels;
  DictionaryAttr whys;
  Link link;
  for (auto pipeline : module.getOps<dist::PipelineOp>()) {
    whys = pipeline->getAttrOfType<DictionaryAttr>(graph::kChannelsAttr);
    link = linkOf(pipeline);
  }
  const SmallVector<dist::StageAttr> stages = stagesOf(module);
  auto programOf = [&](size_t stage) {
    return module.lookupSymbol<ModuleOp>(stages[stage].getProgram().getValue());
  };
  for (size_t s = 0; s + 1 < stages.size(); ++s) {
    ChannelExplanation on, back;
    on.from = back.to = int64_t(s);
    on.to = back.from = int64_t(s) + 1;
    on.staysOnRank = back.staysOnRank = stages[s].getAt() == stages[s + 1].getAt();
    readChannels(programOf(s), graph::Gives::Sent, on, whys, link, options.microBatches, channels);
    readChannels(programOf(s + 1), graph::Gives::SentGradient, back, whys, link, options.microBatches,
                 channels);
  }
  return channels;
}

std::string describePrediction(ModuleOp module, const CompileOptions &options) {
  for (auto pipeline : module.getOps<dist::PipelineOp>()) {
    if (std::optional<schedule::Schedule> lists = readLists(pipeline)) {
      const schedule::StepPrediction step = predictStep(pipeline, *lists);
      return llvm::formatv("a step {0:f2} us predicted, of which ranks idle {1:f1} %; {2} send buffers",
                           step.seconds() * 1e6, step.idle() * 100, pipeline.getSendBuffers().value_or(0));
    }
    const StageTimes times = readTimes(pipeline);
    return describeGeneration(schedule::generationCosts(times), options.microBatches) + " predicted";
  }
  return "";
}

std::string describeGeneration(const schedule::GenerationCosts &costs, int64_t groups) {
  const schedule::GenerationPrediction taken = schedule::predictGeneration(costs, groups);
  return llvm::formatv("a chunk of a prompt {0:f2} us, a token {1:f2} us", taken.prompt * 1e6,
                       taken.token * 1e6);
}

std::string toString(const ChannelExplanation &channel) {
  std::string times;
  if (channel.executions > 1)
    times = llvm::formatv(", {0} times a step", channel.executions);
  const std::string takes = channel.staysOnRank
                                ? "stays on its rank"
                                : llvm::formatv("{0:f2} us predicted", channel.seconds * 1e6).str();
  return llvm::formatv("channel {0}, stage {1} to {2}: {3} bytes of a rank ({4}){5}, {6}; {7}", channel.value,
                       channel.from, channel.to, channel.bytes, channel.type, times, takes, channel.why)
      .str();
}

} // namespace tessera
