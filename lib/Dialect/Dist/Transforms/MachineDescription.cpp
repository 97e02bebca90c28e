//===- MachineDescription.cpp - The machine a module is for ---------------===//
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"

#include "tessera/AutoParallel/Hierarchy.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Support/TextFile.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Longest description that is read: room for a thousand axes.
static constexpr uint64_t kMachineBytes = 1 << 17;

/// What a file says, or why it cannot be read.
static std::optional<std::string> readDescription(StringRef path, std::string &why) {
  if (std::unique_ptr<llvm::MemoryBuffer> file = readTextFile(path, kMachineBytes, why))
    return file->getBuffer().str();
  why += "; name a JSON file that describes the machine, or one of " + namesOfMachines();
  return std::nullopt;
}

std::optional<Machine> tessera::dist::loadMachine(StringRef given, const Mesh &mesh, std::string &error) {
  auto complain = [&](const std::string &why) {
    error = "cannot read machine (" + given.str() + "): " + why;
    return std::nullopt;
  };
  std::string why;
  std::optional<Machine> machine = namedMachine(given, why);
  if (!machine && !why.empty())
    return complain(why + "; write h100:8, for example");
  if (!machine) {
    const bool isText = given.starts_with("{");
    std::optional<std::string> text = isText ? given.str() : readDescription(given, why);
    if (!text)
      return complain(why);
    machine = parseMachine(*text, why);
    if (!machine)
      return complain(why + "; docs/Machines.md has the form");
    if (machine->name == Machine::kNominal)
      return complain("the name '" + std::string(Machine::kNominal) +
                      "' is that of the machine that nobody described; give it another one");
    if (machine->name == Machine::kUnnamed && !isText) {
      machine->name = llvm::json::fixUTF8(given);
      for (char &c : machine->name)
        c = c >= 0 && c < ' ' ? '?' : c;
    }
  }
  auto misfit = [&](StringRef axis) { return !mesh.find(axis); };
  for (const auto &[axis, link] : machine->axes)
    if (misfit(axis))
      return complain("it describes axis '" + axis + "', which the mesh has not; leave it out");
  for (const auto &[axis, count] : machine->within)
    if (misfit(axis))
      return complain("it describes axis '" + axis + "', which the mesh has not; leave it out");
  machine->lieOn(mesh);
  return machine;
}

Machine tessera::dist::machineOf(ModuleOp module) {
  std::string error;
  auto text = module->getAttrOfType<StringAttr>(kMachineAttr);
  auto machine = text ? parseMachine(text, error) : std::nullopt;
  return machine.value_or(Machine());
}

/// A collective as the planner's step; elements are of `elementBytes`.
static ReshardStep stepOf(CollectiveOpInterface collective, const Mesh &mesh, double elementBytes) {
  ReshardStep step;
  step.kind = collective.getStepKind();
  step.received = double(bytesSent(collective, mesh)) / elementBytes;
  step.messages = double(collective.getMessages(mesh));
  if (AxisList axes = collective.getGroupAxes(mesh); !axes.empty()) {
    step.moves.emplace_back();
    step.moves.front().axes = axes;
    if (auto gather = dyn_cast<AllGatherOp>(collective.getOperation()))
      step.moves.front().from = int(gather.getDim());
    if (auto scatter = dyn_cast<ReduceScatterOp>(collective.getOperation()))
      step.moves.front().to = int(scatter.getDim());
  }
  if (ShardingAttr sharding = getShardingAttr(collective.getArrived().getType())) {
    step.result = sharding.toSharding(mesh);
    step.layout = toStridedSharding(step.result);
  }
  return step;
}

std::optional<ReshardPlan> tessera::dist::stagesOf(const Machine &machine, const Mesh &mesh,
                                                   CollectiveOpInterface collective) {
  if (!isa<AllGatherOp, ReduceScatterOp, AllReduceOp>(collective.getOperation()) || machine.ranksPerNode == 0)
    return std::nullopt;
  Value input = collective->getOperand(0);
  ShardingAttr before = getShardingAttr(input.getType());
  auto type = dyn_cast<RankedTensorType>(collective.getArrived().getType());
  if (!before || !type || !getShardingAttr(type))
    return std::nullopt;
  const double bytes = gatheredElementBytes(input);
  ReshardPlan plan;
  plan.steps.push_back(stepOf(collective, mesh, bytes));
  plan.received = plan.steps.front().received;
  plan = stageAtNodes(machine, mesh, globalShape(type), bytes, before.toSharding(mesh), std::move(plan));
  return plan.steps.size() > 1 ? std::optional(std::move(plan)) : std::nullopt;
}

double tessera::dist::collectiveTime(const Machine &machine, const Mesh &mesh,
                                     CollectiveOpInterface collective) {
  if (std::optional<ReshardPlan> stages = stagesOf(machine, mesh, collective))
    return planTime(machine, mesh, *stages, gatheredElementBytes(collective->getOperand(0)));
  return stepTime(machine, mesh, stepOf(collective, mesh, /*elementBytes=*/1), /*elementBytes=*/1);
}

double tessera::dist::workTime(const Machine &machine, Operation *op, const OpCost &work) {
  return tessera::workTime(machine, computeTypeOf(op), work.flops, work.bytesRead + work.bytesWritten, 1);
}

ComputeType tessera::dist::computeTypeOf(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      Type element = getElementTypeOrSelf(type);
      if (element.isBF16())
        return ComputeType::BF16;
      if (element.isF16())
        return ComputeType::F16;
      if (isa<FloatType>(element))
        return ComputeType::F32;
    }
  return ComputeType::F32;
}
