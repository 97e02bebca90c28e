//===- StagesInParts.cpp --------------------------------------------------===//
#include "StagesInParts.h"

#include "tessera/Support/TextFile.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

using namespace mlir;

namespace tessera {

using graph::FillSource;
using graph::Gives;
using graph::Slot;
using graph::StagePart;
using schedule::Action;
using schedule::Kind;

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

static Result<schedule::Schedule> readLists(const schedule::PipelineChoice &choice, int32_t stages,
                                            int32_t microBatches) {
  if (choice.name) {
    int32_t each = choice.stagesPerRank ? choice.stagesPerRank : schedule::isVShaped(*choice.name) ? 2 : 1;
    if (stages % each)
      return Failure{"cannot make the lists", std::string(schedule::scheduleName(*choice.name)),
                     std::to_string(stages) + " stages are no " + std::to_string(each) + " a rank",
                     "give --stages a multiple of " + std::to_string(each) + " numbers"};
    return schedule::generate(*choice.name, stages / each, microBatches,
                              schedule::takesStagesPerRank(*choice.name) ? each : 0);
  }
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(choice.file, /*most=*/64 << 20, why);
  if (!buffer)
    return Failure{"cannot read the schedule", choice.file, why,
                   "name a file with lists of actions, or a schedule: " + schedule::scheduleNames()};
  Result<schedule::Schedule> read =
      schedule::parseSchedule({buffer->getBufferStart(), buffer->getBufferSize()}, choice.file);
  if (read && (read->numStages() != stages || read->microBatches != microBatches))
    return Failure{"cannot run the schedule", choice.file,
                   "it has " + std::to_string(read->numStages()) + " stages and " +
                       std::to_string(read->microBatches) + " micro-batches",
                   "give as many with --stages and --micro-batches"};
  return read;
}

Result<schedule::Schedule> listsFor(const std::string &pipeline, int32_t stages, int32_t microBatches) {
  Result<schedule::PipelineChoice> choice = schedule::parsePipelineChoice(pipeline);
  if (!choice)
    return choice.takeFailure();
  if (choice->isAuto())
    return Failure{"cannot run stages in parts", pipeline, "nothing chooses a schedule here",
                   "name one of " + schedule::scheduleNames() + ", or a file"};
  Result<schedule::Schedule> lists = readLists(*choice, stages, microBatches);
  if (!lists)
    return lists;
  if (std::optional<schedule::Problem> problem = schedule::validate(*lists))
    return Failure{"cannot run the schedule", pipeline, problem->why, "mend the lists"};
  return lists;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

StagesInParts::StagesInParts(std::vector<Stage> &stages, const schedule::Schedule &lists, Given given)
    : stages(stages), lists(lists), given(std::move(given)), memories(stages.size()) {
  for (auto [stage, memory] : llvm::zip_equal(stages, memories))
    for (func::FuncOp part : functionsOf(stage))
      memory.ranks = std::max(memory.ranks, numRanks(part));
}

static std::string nameOf(func::FuncOp part, std::optional<int64_t> microBatch) {
  return ("@" + part.getName() + (microBatch ? " of micro-batch " + llvm::Twine(*microBatch) : llvm::Twine()))
      .str();
}

Result<StagesInParts::Values *> StagesInParts::placeOf(Stage &stage, graph::SlotAttr slot,
                                                       const std::string &name,
                                                       std::optional<int64_t> microBatch) {
  if (!slot)
    return &memoryOf(stage).states;
  if (!microBatch)
    return cannot("cannot run a part", name, "each micro-batch has its own, and the part is of none");
  return &memoryOf(stage).microBatches[*microBatch].states[size_t(slot.getValue())];
}

Result<RankValues> StagesInParts::argumentOf(Stage &stage, func::FuncOp part, unsigned argument,
                                             std::optional<int64_t> microBatch) {
  std::string name = argumentName(part, argument).str();
  int64_t ranks = memoryOf(stage).ranks;
  if (graph::argumentKind(part, argument) == graph::Kind::State) {
    auto slot = part.getArgAttrOfType<graph::SlotAttr>(argument, graph::kSlotAttr);
    Result<Values *> place = placeOf(stage, slot, name, microBatch);
    if (!place)
      return place.takeFailure();
    if (auto state = (*place)->find(name); state != (*place)->end())
      return state->second;
    if (!part.getArgument(argument).use_empty())
      return cannot("cannot run " + nameOf(part, microBatch), name, "it reads a state that is not there");
    // The place of what it makes.
    ReferenceTensor any(cast<RankedTensorType>(part.getArgumentTypes()[argument]));
    for (int64_t i = 0; i < any.size(); ++i)
      poison(any, i);
    return RankValues(size_t(ranks), any);
  }
  std::optional<FillSource> source = fillOf(part, argument);
  std::optional<ReferenceTensor> value;
  if (source == FillSource::Received || source == FillSource::ReceivedGradient) {
    MicroBatch &of = memoryOf(stage).microBatches[*microBatch];
    NamedValues &values = source == FillSource::Received ? of.received : of.receivedGradients;
    auto received = values.find(name);
    if (received == values.end())
      return cannot("cannot run " + nameOf(part, microBatch), name, "it reads what has not been received");
    value = received->second;
  } else {
    value = given(stage, part, argument, microBatch);
  }
  auto pieces = piecesOfArgument(part, argument, *value, ranks);
  if (failed(pieces))
    return cannot("cannot run " + nameOf(part, microBatch), name, "it has another type; its error is above");
  return std::move(*pieces);
}

Status StagesInParts::take(Stage &stage, func::FuncOp part, unsigned result, RankValues value,
                           std::optional<int64_t> microBatch) {
  std::string name = resultName(part, result).str();
  if (graph::resultKind(part, result) == graph::Kind::State) {
    auto slot = part.getResultAttrOfType<graph::SlotAttr>(result, graph::kSlotAttr);
    auto kind = part->getAttrOfType<graph::StagePartAttr>(graph::kStagePartAttr);
    if (slot && slot.getValue() == Slot::FromInputGradient && kind.getValue() == StagePart::Forward)
      return cannot("cannot run " + nameOf(part, microBatch), name, "it has no place before backward begins");
    Result<Values *> place = placeOf(stage, slot, name, microBatch);
    if (!place)
      return place.takeFailure();
    (**place)[name] = std::move(value);
    return {};
  }
  auto global = globalResult(part, result, std::move(value));
  if (failed(global))
    return cannot("cannot run " + nameOf(part, microBatch), name, "it is no value; its error is above");
  std::optional<Gives> gives = givesOf(part, result);
  Stage *neighbour = gives == Gives::Sent ? &stage + 1 : gives == Gives::SentGradient ? &stage - 1 : nullptr;
  if (!neighbour) {
    stage.outputs[name] = std::move(*global);
    return {};
  }
  MicroBatch &of = memoryOf(*neighbour).microBatches[*microBatch];
  (gives == Gives::Sent ? of.received : of.receivedGradients)[name] = std::move(*global);
  return {};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status StagesInParts::call(Stage &stage, StagePart part, std::optional<int64_t> microBatch) {
  auto found = stage.parts.find(part);
  if (found == stage.parts.end())
    return {};
  func::FuncOp function = found->second;
  std::vector<RankValues> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Result<RankValues> argument = argumentOf(stage, function, i, microBatch);
    if (!argument)
      return argument.takeFailure();
    arguments.push_back(argument.take());
  }
  InterpreterOptions options;
  options.ranks = memoryOf(stage).ranks;
  auto results = interpretFunction(function, std::move(arguments), options);
  if (failed(results))
    return cannot("cannot run " + nameOf(function, microBatch), "", "the interpreter failed: see above");
  for (auto [i, value] : llvm::enumerate(*results))
    if (Status status = take(stage, function, unsigned(i), std::move(value), microBatch); !status)
      return status;
  return {};
}

Status StagesInParts::callAll(StagePart part) {
  for (Stage &stage : stages)
    if (Status status = call(stage, part, std::nullopt); !status)
      return status;
  return {};
}

Status StagesInParts::compute(const Action &action) {
  Stage &stage = stages[size_t(action.stage)];
  auto run = [&](StagePart part) { return call(stage, part, action.microBatch); };
  if (action.kind == Kind::Forward) {
    forwards.insert({action.stage, action.microBatch});
    return run(StagePart::Forward);
  }
  // A whole backward of a stage that has halves: one after the other.
  if (action.kind == Kind::Backward)
    if (Status status = run(StagePart::Backward); !status)
      return status;
  if (schedule::givesInputGradient(action.kind)) {
    if (Status status = run(StagePart::InputGradient); !status)
      return status;
    backwards.insert({action.stage, action.microBatch});
    Memory &memory = memoryOf(stage);
    memory.microBatches[action.microBatch].states[size_t(Slot::UntilInputGradient)].clear();
  }
  if (schedule::givesWeightGradients(action.kind)) {
    if (Status status = run(StagePart::WeightGradient); !status)
      return status;
    memoryOf(stage).microBatches.erase(action.microBatch);
  }
  return {};
}

bool StagesInParts::isReady(const Action &action) const {
  for (const Action &part : schedule::partsOf(action)) {
    if (part.kind == Kind::Forward && part.stage > 0 && !forwards.count({part.stage - 1, part.microBatch}))
      return false;
    if (schedule::givesInputGradient(part.kind) && part.stage + 1 < lists.numStages() &&
        !backwards.count({part.stage + 1, part.microBatch}))
      return false;
  }
  return true;
}

Status StagesInParts::train() {
  std::vector<size_t> next(lists.ranks.size(), 0);
  for (bool moves = true; moves;) {
    moves = false;
    for (auto [list, at] : llvm::zip_equal(lists.ranks, next))
      for (; at < list.size(); ++at) {
        if (!schedule::computes(list[at].kind)) // here every value is at its reader at once
          continue;
        if (!isReady(list[at]))
          break;
        moves = true;
        for (const Action &part : schedule::partsOf(list[at]))
          if (Status status = compute(part); !status)
            return status;
      }
  }
  return {};
}

Status StagesInParts::evaluate() {
  for (int32_t microBatch = 0; microBatch < lists.microBatches; ++microBatch)
    for (Stage &stage : stages) {
      if (Status status = call(stage, StagePart::Forward, microBatch); !status)
        return status;
      memoryOf(stage).microBatches.erase(microBatch);
    }
  return {};
}

Status StagesInParts::expectNothingHeld() const {
  for (auto [s, memory] : llvm::enumerate(memories))
    if (!memory.microBatches.empty())
      return cannot("a step ends too early", "stage " + std::to_string(s),
                    "it still holds micro-batch " + std::to_string(memory.microBatches.begin()->first));
  return {};
}

} // namespace tessera
