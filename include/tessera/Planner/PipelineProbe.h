//===- PipelineProbe.h - What stages of a pipeline take ---------*- C++ -*-===//
//
// Costs of a cut are read off programs: a few stages are compiled by the phases that make the real ones, and
// what they take is taken apart into what each layer takes, what stands before and behind the layers, and
// what a stage has besides. Stages of a model differ in numbers of layers, so a handful of them says it for
// all cuts.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PLANNER_PIPELINEPROBE_H
#define TESSERA_PLANNER_PIPELINEPROBE_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/runtime/schedule/Cut.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {

/// What a stage takes of one rank. Seconds: of the entries for a micro-batch, of those that run once a step,
/// of a chunk of a prompt and of one token a row. Bytes: of weights and their states, of the arena without
/// slots and the workspace beside it, and of a slot of each kind (graph::Slot): what is kept to the end of
/// backward, to the end of input_gradient, and from that to weight_gradient. Bytes are known from rung exec
/// on.
enum class Figure {
  Forward,
  InputGradient,
  WeightGradient,
  Once,
  Chunk,
  Token,
  Weights,
  Arena,
  Slot,
  SlotOfInput,
  SlotOfWeight
};
constexpr size_t kFigures = size_t(Figure::SlotOfWeight) + 1;
using Figures = std::array<double, kFigures>;

struct StageFigures {
  Figures all{};
  std::vector<Figures> bodies; ///< of the seconds, those in each body of the loop over layers
  /// What entries of one role exchange with other stages, for each micro-batch, chunk or token.
  struct Messages {
    int64_t sent = 0, sentBack = 0; ///< bytes: to the next stage, and to the one before
    /// What was received is read again by a later entry than the one that it came for: what the stage before
    /// sent, by backward; its gradient, by weight_gradient.
    bool keepsReceived = false, keepsGradient = false;
  };
  std::map<graph::Role, Messages> messages;
  int64_t sent = 0, sentBack = 0; ///< of a micro-batch of training, or a chunk
  int64_t shared = 0;             ///< bytes of gradients of weights that another stage has too
  std::vector<std::pair<std::string, int64_t>> sharedGradients; ///< each of them, by name
  int64_t tokens = 0;                  ///< bytes of a call's tokens, where it gives some: of all ranks' rows
  int64_t outputs = 0;                 ///< bytes of outputs that are kept as inputs of other entries
  std::set<std::string> axesOfWeights; ///< those that its weights and states lie over

  double of(Figure figure) const { return all[size_t(figure)]; }
  /// Of a step with dropout: of the one without, where nothing is dropped. Zeros of what it has not.
  const Messages &of(graph::Role role) const;
};

/// The seconds and messages of the stages of `module`, which are on rung spmd, in their order.
std::vector<StageFigures> readStages(mlir::ModuleOp module);

/// The loop over layers that @forward of a module on rung graph has: of several the last one.
struct LayerLoop {
  int64_t layers = 0, period = 1;
  int64_t loops = 1; ///< how many there are
};
/// None: it has no run of equal layers.
std::optional<LayerLoop> findLayerLoop(mlir::ModuleOp graph);

/// Compiles stages of one model, in a context of its own: it reports nothing.
class StageProbe {
public:
  StageProbe(mlir::ModuleOp graph, const std::string &model);

  /// The stages that `options` (stageSizes, stageMesh, ...) says, in their order; on rung `last`, spmd or
  /// exec. Fails where the pipeline fails.
  Result<std::vector<StageFigures>> measure(const CompileOptions &options, Rung last);

private:
  static mlir::DialectRegistry registry();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> graph;
  std::string model;
};

/// Stages that are compiled, and what all cuts take by them.
class StageCosts {
public:
  static Result<StageCosts> probe(StageProbe &probe, const LayerLoop &loop, CompileOptions options,
                                  Rung last);

  schedule::LayerCosts of(Figure figure) const;
  /// The largest message between two stages, either way.
  double messageBytes() const;
  const std::vector<StageFigures> &compiled() const { return stages; } ///< the first is a model's first
  /// Of gradients of weights that the first and the last stage have both.
  double sharedBytes() const;
  /// What a stage with layers keeps of messages for each micro-batch, beside its slots: what was received,
  /// from forward on, and its gradient, for weight_gradient.
  double keptValueBytes() const;
  double keptGradientBytes() const;

private:
  LayerLoop loop;
  schedule::StageSizes sizes; ///< of the stages that were compiled
  /// Stages between first and last that differ in nothing but their layers; equal: there is one.
  size_t few = 0, many = 0;
  std::vector<StageFigures> stages;
};

} // namespace tessera
#endif
