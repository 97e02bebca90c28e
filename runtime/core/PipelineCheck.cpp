// What a manifest must not contradict: pipelines and their stages.
#include "ManifestCheck.h"
#include "tessera/runtime/core/Fields.h"

#include <algorithm>
#include <set>

namespace tessera::runtime {

namespace {
struct PipelineChecker {
  const Manifest &m;

  void require(bool ok, const std::string &where, const std::string &why) const {
    if (!ok)
      damaged(where, why);
  }

  void all() const {
    slots();
    std::set<std::pair<Role, StagePart>> parts;
    for (const EntrySpec &e : m.entries) {
      exchanged(e);
      if (e.part == StagePart::Whole)
        continue;
      require(parts.insert({e.role, e.part}).second, "entry " + e.name,
              "is the same part of a step as an entry before it");
      part(e);
    }
    if (m.pipeline)
      pipeline(*m.pipeline);
  }

  // Every state lies in one slot as a whole, or behind all of them; ports lie behind them.
  void slots() const {
    for (int slot = 0; slot < kSlots; ++slot)
      require(m.slotBytes[size_t(slot)] >= 0 && m.slotBytes[size_t(slot)] % 64 == 0 &&
                  m.slotBegin(slot + 1) <= m.arenaBytes,
              "slot_bytes", "is no part of the arena");
    const int64_t end = m.slotBegin(kSlots);
    for (const StateSpec &s : m.states)
      if (int slot = m.slotAt(s.offset); slot < kSlots)
        require(s.offset + s.bytes <= m.slotBegin(slot + 1), "state " + s.name,
                "lies in the slot of a micro-batch and behind it");
    for (const EntrySpec &e : m.entries) {
      for (const InputSpec &input : e.inputs)
        require(input.offset >= end, "entry " + e.name + ", input " + input.name,
                "lies in the slot of a micro-batch");
      for (const OutputSpec &output : e.outputs)
        require(output.offset >= end, "entry " + e.name + ", output " + output.name,
                "lies in the slot of a micro-batch");
    }
  }

  // In which parts of a step a stage takes and gives what belongs to pipelines.
  static bool takes(StagePart part, Fill fill) {
    switch (fill) {
    case Fill::Received:
    case Fill::MicroBatch:
      return isOfMicroBatch(part);
    case Fill::ReceivedGradient:
      return isOfMicroBatch(part) && part != StagePart::Forward;
    case Fill::FirstLayer:
      return part != StagePart::Whole;
    case Fill::SharedGradient:
      return part == StagePart::Sum || part == StagePart::Update;
    case Fill::StageSum:
      return part == StagePart::Update;
    default:
      return true;
    }
  }
  static bool gives(StagePart part, Gives gives) {
    switch (gives) {
    case Gives::Sent:
      return part == StagePart::Forward;
    case Gives::SentGradient:
      return part == StagePart::Backward || part == StagePart::InputGradient;
    case Gives::SharedGradient:
      return part == StagePart::Share;
    case Gives::StageSum:
      return part == StagePart::Sum;
    case Gives::Loss:
    case Gives::GradNorm:
      return part == StagePart::Whole || part == StagePart::Update;
    default:
      return true;
    }
  }
  void exchanged(const EntrySpec &e) const {
    for (const InputSpec &input : e.inputs)
      require(takes(e.part, input.fill), "entry " + e.name + ", input " + input.name,
              "is filled by what this part of a step does not take");
    for (const OutputSpec &output : e.outputs)
      require(gives(e.part, output.gives), "entry " + e.name + ", output " + output.name,
              "gives what this part of a step does not give");
  }

  // What a stage does to a chunk of prompts, or to one token of each row.
  void generates(const EntrySpec &e) const {
    std::string where = "entry " + e.name;
    require(m.generate.has_value(), where, "is part of generating, and the program does not generate text");
    require(e.part == StagePart::Forward, where, "is no part of generating");
    for (const InputSpec &input : e.inputs)
      require(input.fill != Fill::FirstLayer || (input.dtype == io::DType::I32 && input.shape.empty()),
              where + ", input " + input.name, "is no number of type i32");
  }

  void part(const EntrySpec &e) const {
    std::string where = "entry " + e.name;
    if (e.role == Role::Prompt || e.role == Role::Next)
      return generates(e);
    require(m.train.has_value(), where, "is part of a step, and the program does not train");
    require(e.role == Role::Train || e.role == Role::TrainDropout || e.role == Role::Evaluate, where,
            "is part of a step, and has no role in training");
    require(e.counts.empty(), where, "takes counts, which nothing gives");
    require(e.role != Role::Evaluate || e.part == StagePart::Begin || e.part == StagePart::Forward ||
                e.part == StagePart::Sum || e.part == StagePart::Update,
            where, "evaluates, and is a part of training");
    require(e.paramsUpdated.empty() || (e.part == StagePart::Update && e.role != Role::Evaluate), where,
            "updates parameters, which its part does not");
    for (const InputSpec &input : e.inputs)
      ofStep(e, input);
    for (const OutputSpec &output : e.outputs)
      require((output.gives != Gives::Loss && output.gives != Gives::GradNorm &&
               output.gives != Gives::StageSum) ||
                  (output.dtype == io::DType::F32 && output.shape.empty()),
              where + ", output " + output.name, "is no number of type f32");
  }

  void ofStep(const EntrySpec &e, const InputSpec &input) const {
    std::string where = "entry " + e.name + ", input " + input.name;
    switch (input.fill) {
    case Fill::TokenIds:
    case Fill::Positions:
    case Fill::Targets:
      require(isOfMicroBatch(e.part) && input.dtype == io::DType::I32 &&
                  input.shape == Shape{m.train->microRows(), m.train->seq},
              where, "is not i32 [rows, seq] of a micro-batch");
      return;
    case Fill::FirstLayer:
    case Fill::MicroBatch:
      return require(input.dtype == io::DType::I32 && input.shape.empty(), where, "is no number of type i32");
    case Fill::DropoutKey:
      return require(input.dtype == io::DType::I64 && input.shape.empty(), where, "is no number of type i64");
    case Fill::Received:
    case Fill::ReceivedGradient:
    case Fill::SharedGradient:
      return;
    default:
      require(fillsTraining(input.fill) || input.fill == Fill::StageSum, where, "nothing fills it");
      require(input.dtype == io::DType::F32 && input.shape.empty(), where, "is no number of type f32");
    }
  }

  // Either of all that is done, or of nothing.
  void times(const PipelineSpec &p) const {
    if (p.times.empty())
      return;
    std::set<std::string> names, wanted{"chunk", "token", "link", "token_link"};
    if (m.train)
      wanted = {"forward", "input_gradient", "weight_gradient", "once", "shared", "link", "wire"};
    for (const auto &[name, seconds] : p.times) {
      names.insert(name);
      require(seconds.size() == p.stages.size() - (name == "link" || name == "wire"), "pipeline, times",
              "has " + std::to_string(seconds.size()) + " numbers for " + name);
      for (double one : seconds)
        require(one >= 0, "pipeline, times", name + " has a negative number");
    }
    require(names == wanted, "pipeline, times", "is not of what stages do");
  }

  void pipeline(const PipelineSpec &p) const {
    auto axis = std::find_if(m.mesh.axes().begin(), m.mesh.axes().end(),
                             [&](const MeshAxis &one) { return one.name == p.axis; });
    require(axis != m.mesh.axes().end(), "pipeline",
            "axis " + p.axis + " does not fit the mesh " + m.mesh.describe());
    require(m.train.has_value() != m.generate.has_value(), "pipeline",
            "the program does not train or generate text, or does both");
    require(m.entries.empty() && m.params.empty() && m.states.empty() && m.matmuls.empty() &&
                m.groups.empty() && m.collectives.empty() && m.arenaBytes == 0,
            "pipeline", "the program has entries beside those of its stages");
    require(int64_t(p.lists.size()) == (m.train ? axis->size : 0), "pipeline",
            "has " + std::to_string(p.lists.size()) + " lists for " + std::to_string(axis->size) +
                " ranks along " + p.axis);
    require(p.sendBuffers > 0, "pipeline", "has no buffers for what it sends");
    require(m.train ? p.groups == 0 : p.groups > 0 && p.groups <= m.generate->batch, "pipeline",
            "has " + std::to_string(p.groups) + " groups of rows" +
                (m.train ? "" : " for a batch of " + std::to_string(m.generate->batch)));
    require(m.train || int64_t(p.stages.size()) == axis->size, "pipeline",
            "has " + std::to_string(p.stages.size()) + " stages on " + std::to_string(axis->size) +
                " ranks, which generate with one each");
    std::vector<bool> used(static_cast<size_t>(axis->size));
    int64_t layers = 0;
    for (size_t s = 0; s < p.stages.size(); ++s) {
      const PipelineSpec::Stage &stage = p.stages[s];
      std::string where = "pipeline, stage " + std::to_string(s);
      require(stage.program >= 0, where, "its program has a negative number");
      require(stage.at >= 0 && stage.at < axis->size, where,
              "it lies at " + std::to_string(stage.at) + " of " + std::to_string(axis->size));
      require(m.train || stage.at == int64_t(s), where, "it does not lie where its number says");
      require(stage.layers >= 0 && stage.firstLayer == layers, where,
              "its layers are not those behind the stage before it");
      layers += stage.layers;
      used[size_t(stage.at)] = true;
    }
    for (size_t at = 0; at < used.size(); ++at)
      require(used[at], "pipeline", "no stage lies at " + std::to_string(at));
    times(p);
    std::set<std::string> shared;
    for (const PipelineSpec::Shared &weight : p.shared)
      require(weight.stages[0] >= 0 && weight.stages[0] < weight.stages[1] &&
                  weight.stages[1] < int64_t(p.stages.size()) && shared.insert(weight.parameter).second,
              "pipeline, shared", weight.parameter + " is not of two stages, the first one first");
  }
};
} // namespace

void checkPipeline(const Manifest &manifest) { PipelineChecker{manifest}.all(); }

} // namespace tessera::runtime
