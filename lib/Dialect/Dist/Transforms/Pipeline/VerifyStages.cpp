//===- VerifyStages.cpp - What stages hand each other arrives, once -------===//
//
// Stages are modules of their own, so no op holds two of them together. The names of what they give and are
// filled with do, and this is where both ends are looked at.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Entries.h"

#include "llvm/ADT/MapVector.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTVERIFYSTAGESPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;
using graph::FillSource;
using graph::Gives;
using graph::Role;

namespace {
/// An argument or a result of a function of a stage.
struct StageEnd {
  func::FuncOp function;
  unsigned number;
  Type type;
};
using StageEnds = llvm::MapVector<StringRef, StageEnd>; // by name

struct Stage {
  size_t number;
  ModuleOp program;
  SmallVector<func::FuncOp> functions; ///< of one role: one, or its parts
};

/// What travels from one stage to another, and how messages say so.
struct Channel {
  Gives gives;
  FillSource fill;
  StringRef sends, receives;
};
constexpr Channel kValues{Gives::Sent, FillSource::Received, "sends", "receives"};
constexpr Channel kGradients{Gives::SentGradient, FillSource::ReceivedGradient, "sends back",
                             "receives the gradient"};
constexpr Channel kShared{Gives::SharedGradient, FillSource::SharedGradient, "shares",
                          "takes the shared gradient"};

class StageVerifier {
public:
  StageVerifier(PipelineOp pipeline, Role role) : role(role) {
    SymbolTableCollection symbols;
    for (auto [number, stage] : llvm::enumerate(pipeline.getStages().getAsRange<StageAttr>()))
      stages.push_back({number, symbols.lookupNearestSymbolFrom<ModuleOp>(pipeline, stage.getProgram()), {}});
    for (Stage &stage : stages)
      stage.functions = functionsOf(stage.program);
  }

  LogicalResult verify() {
    if (failed(verifyMeshes()))
      return failure();
    for (size_t s = 0; s < stages.size(); ++s) {
      const Stage *before = s > 0 ? &stages[s - 1] : nullptr;
      const Stage *behind = s + 1 < stages.size() ? &stages[s + 1] : nullptr;
      if (failed(verifyChannel(kValues, stages[s], behind)) ||
          failed(verifyChannel(kGradients, stages[s], before)))
        return failure();
    }
    // At the ends there is nobody who could give anything.
    if (failed(verifyChannel(kValues, std::nullopt, &stages.front())) ||
        failed(verifyChannel(kGradients, std::nullopt, &stages.back())))
      return failure();
    return success(succeeded(verifyShared()) && succeeded(verifySums()));
  }

private:
  SmallVector<func::FuncOp> functionsOf(ModuleOp program) const;
  LogicalResult verifyMeshes() const;
  FailureOr<StageEnds> given(const Channel &channel, const Stage &stage) const;
  FailureOr<StageEnds> taken(const Channel &channel, const Stage &stage) const;
  LogicalResult verifyChannel(const Channel &channel, std::optional<Stage> from, const Stage *to) const;
  LogicalResult verifyShared() const;
  LogicalResult verifySums() const;

  Role role;
  SmallVector<Stage> stages;
};
} // namespace

/// A stage without a site has no step with dropout, and before it is known whether elements are dropped those
/// with one have no other: they are the same step.
SmallVector<func::FuncOp> StageVerifier::functionsOf(ModuleOp program) const {
  auto ofRole = [&](Role wanted) {
    SmallVector<func::FuncOp> found;
    for (auto function : program.getOps<func::FuncOp>())
      if (auto own = function->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
          own && own.getValue() == wanted)
        found.push_back(function);
    return found;
  };
  SmallVector<func::FuncOp> found = ofRole(role);
  if (!found.empty() || (role != Role::Train && role != Role::TrainDropout))
    return found;
  return ofRole(role == Role::Train ? Role::TrainDropout : Role::Train);
}

static InFlightDiagnostic errorAt(const Stage &stage, func::FuncOp function) {
  return function.emitError() << "stage " << stage.number << ", @" << function.getName() << ": ";
}

/// Shardings may differ from stage to stage, meshes not: their ranks are the same ones.
LogicalResult StageVerifier::verifyMeshes() const {
  MeshOp first = getMesh(ModuleOp(stages.front().program));
  for (const Stage &stage : stages) {
    MeshOp own = getMesh(ModuleOp(stage.program));
    if (bool(own) == bool(first) && (!own || own.getMesh() == first.getMesh()))
      continue;
    InFlightDiagnostic error = ModuleOp(stage.program).emitError();
    error << "stage " << stage.number << " has another mesh than stage 0";
    error.attachNote(first ? first.getLoc() : ModuleOp(stages.front().program).getLoc())
        << "stage 0 is for this one";
    return error;
  }
  return success();
}

FailureOr<StageEnds> StageVerifier::given(const Channel &channel, const Stage &stage) const {
  StageEnds ends;
  for (func::FuncOp function : stage.functions)
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (graph::givesOf(function, i) != channel.gives)
        continue;
      StringRef name = graph::resultName(function, i);
      auto [first, isNew] = ends.insert({name, {function, i, function.getResultTypes()[i]}});
      if (isNew)
        continue;
      InFlightDiagnostic error = errorAt(stage, function);
      error << "result #" << i << " " << channel.sends << " \"" << name << "\" a second time";
      error.attachNote(first->second.function.getLoc()) << "the first time, result #" << first->second.number;
      return error;
    }
  return ends;
}

/// Several parts of a step may read one value, each once.
FailureOr<StageEnds> StageVerifier::taken(const Channel &channel, const Stage &stage) const {
  StageEnds ends;
  for (func::FuncOp function : stage.functions)
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (graph::fillOf(function, i) != channel.fill)
        continue;
      StringRef name = graph::argumentName(function, i);
      Type type = function.getArgumentTypes()[i];
      auto [first, isNew] = ends.insert({name, {function, i, type}});
      StageEnd before = first->second;
      if (isNew || (before.function != function && before.type == type))
        continue;
      InFlightDiagnostic error = errorAt(stage, function);
      error << "argument #" << i << " " << channel.receives << " \"" << name << "\" "
            << (before.type == type ? "a second time" : "with another type");
      error.attachNote(before.function.getLoc()) << "the first time, argument #" << before.number;
      return error;
    }
  return ends;
}

/// `from`: none where no stage is at that end; `to`: null likewise.
LogicalResult StageVerifier::verifyChannel(const Channel &channel, std::optional<Stage> from,
                                           const Stage *to) const {
  FailureOr<StageEnds> sent = from ? given(channel, *from) : StageEnds();
  FailureOr<StageEnds> received = to ? taken(channel, *to) : StageEnds();
  if (failed(sent) || failed(received))
    return failure();
  auto note = [](InFlightDiagnostic &error, const Stage *stage) {
    if (stage)
      error.attachNote(ModuleOp(stage->program).getLoc()) << "stage " << stage->number << " is this one";
  };
  for (auto &[name, end] : *received) {
    auto made = sent->find(name);
    if (made == sent->end()) {
      InFlightDiagnostic error = errorAt(*to, end.function);
      error << "argument #" << end.number << " " << channel.receives << " \"" << name << "\", which ";
      if (from)
        error << "stage " << from->number << " does not send";
      else
        error << "no stage sends";
      note(error, from ? &*from : nullptr);
      return error;
    }
    if (made->second.type == end.type)
      continue;
    InFlightDiagnostic error = errorAt(*to, end.function);
    error << "argument #" << end.number << " " << channel.receives << " \"" << name << "\" as " << end.type
          << ", and stage " << from->number << " sends " << made->second.type;
    error.attachNote(made->second.function.getLoc())
        << "sent by result #" << made->second.number << " of @" << made->second.function.getName();
    return error;
  }
  for (auto &[name, end] : *sent) {
    if (received->count(name))
      continue;
    InFlightDiagnostic error = errorAt(*from, end.function);
    error << "result #" << end.number << " " << channel.sends << " \"" << name << "\", which ";
    if (to)
      error << "stage " << to->number << " does not receive";
    else
      error << "no stage receives";
    note(error, to);
    return error;
  }
  return success();
}

/// A parameter of two stages: each gives its gradient and takes the other's.
LogicalResult StageVerifier::verifyShared() const {
  llvm::MapVector<StringRef, SmallVector<std::pair<const Stage *, StageEnd>>> holders;
  for (const Stage &stage : stages) {
    // What it gives is of the form of what it takes: to itself it is a channel.
    if (failed(verifyChannel(kShared, stage, &stage)))
      return failure();
    FailureOr<StageEnds> own = given(kShared, stage);
    for (auto &[name, end] : *own)
      holders[name].push_back({&stage, end});
  }
  for (auto &[name, ends] : holders) {
    auto &[stage, end] = ends.back();
    if (ends.size() == 2 && ends.front().second.type == end.type)
      continue;
    InFlightDiagnostic error = errorAt(*stage, end.function);
    error << "result #" << end.number << " shares \"" << name << "\" ";
    if (ends.size() != 2)
      return error << "of " << ends.size() << " stages: a parameter is of one stage or of two";
    error << "as " << end.type << ", and stage " << ends.front().first->number << " as "
          << ends.front().second.type;
    error.attachNote(ends.front().second.function.getLoc())
        << "shared by result #" << ends.front().second.number;
    return error;
  }
  return success();
}

/// A sum over stages has a term.
LogicalResult StageVerifier::verifySums() const {
  llvm::DenseSet<StringRef> names;
  for (const Stage &stage : stages)
    for (func::FuncOp function : stage.functions)
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (graph::givesOf(function, i) == Gives::StageSum)
          names.insert(graph::resultName(function, i));
  for (const Stage &stage : stages)
    for (func::FuncOp function : stage.functions)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (StringRef name = graph::argumentName(function, i);
            graph::fillOf(function, i) == FillSource::StageSum && !names.contains(name))
          return errorAt(stage, function) << "argument #" << i << " takes the sum \"" << name
                                          << "\", to which no stage gives anything";
  return success();
}

namespace {
struct VerifyStages : dist::impl::DistVerifyStagesPassBase<VerifyStages> {
  using Base::Base;
  void runOnOperation() override {
    for (auto pipeline : getOperation().getOps<PipelineOp>())
      for (int role = 0; role <= int(graph::getMaxEnumValForRole()); ++role)
        if (failed(StageVerifier(pipeline, Role(role)).verify()))
          return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
