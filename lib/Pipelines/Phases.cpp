//===- Phases.cpp - One pipeline per rung ---------------------------------===//
#include "tessera/Pipelines/Phases.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

/// The check that stands after a rung.
static void verifyRung(OpPassManager &pm, Rung rung) {
  dist::VerifyRungPassOptions options;
  options.rung = rungName(rung).str();
  pm.addPass(dist::createVerifyRungPass(options));
}

/// The stages of a pipeline as modules of their own.
static void buildStages(OpPassManager &pm, const CompileOptions &options) {
  if (options.stageSizes.empty())
    return;
  graph::CutStagesOptions cut;
  cut.stages.assign(options.stageSizes.begin(), options.stageSizes.end());
  cut.at.assign(options.stageCoordinates.begin(), options.stageCoordinates.end());
  cut.recompute = options.recompute;
  pm.addPass(graph::createCutStages(cut));
}

/// The check that stages fit together, which stands after a rung of theirs.
static void verifyStages(OpPassManager &whole, const CompileOptions &options) {
  if (!options.stageSizes.empty())
    whole.addPass(dist::createDistVerifyStagesPass());
}

/// What runs on each program of its own: on the model's, or on those of a pipeline's stages.
static OpPassManager &programs(OpPassManager &pm, const CompileOptions &options) {
  return options.stageSizes.empty() ? pm : pm.nest<ModuleOp>();
}

/// Prefill, decode and head with a KV cache.
static void buildStep(OpPassManager &whole, const CompileOptions &options) {
  buildStages(whole, options);
  OpPassManager &pm = programs(whole, options);
  graph::BuildGenerateStepOptions step;
  step.batch = options.groupRows ? options.groupRows : options.batch;
  step.maxSeqLen = options.maxSeqLen;
  step.chunk = options.chunk;
  step.draws = true;
  step.cache = options.cache;
  if (auto target = resolveTarget(options.target, options.targetOptions)) {
    step.largestChunk = (*target)->tiling().prefillChunk;
    step.chunkTokens = (*target)->tiling().prefillTokens;
    step.shortChunk = options.shortChunk ? options.shortChunk : (*target)->tiling().shortChunk;
    step.page = (*target)->tiling().cachePage;
    step.rings = (*target)->tiling().ringCaches;
  }
  pm.addPass(graph::createBuildGenerateStep(step));
  verifyRung(pm, Rung::Step);
  verifyStages(whole, options);
}

/// One update of the weights.
static void buildTrainStep(OpPassManager &whole, const CompileOptions &options) {
  if (!options.dtype.empty() && options.dtype != "f32") {
    graph::SetPrecisionOptions precision;
    precision.compute = options.dtype;
    precision.gradients = options.gradDtype.empty() ? "f32" : options.gradDtype;
    whole.addPass(graph::createSetPrecision(precision));
  }
  // Behind the casts: what travels has the type that is computed in.
  buildStages(whole, options);
  OpPassManager &pm = programs(whole, options);
  graph::BuildTrainStepOptions step;
  step.batch = options.batch;
  step.maxSeqLen = options.maxSeqLen;
  step.microBatches = options.microBatches;
  step.optimizer = options.optimizer;
  step.lossScale = options.lossScale;
  step.recompute = options.recompute;
  step.lossChunks = options.lossChunks;
  pm.addPass(graph::createBuildTrainStep(step));
  verifyRung(pm, Rung::Step);
  verifyStages(whole, options);
}

/// Every value a sharding, every disagreement a reshard.
static void buildSharded(OpPassManager &pm, const CompileOptions &options) {
  //===--- Rung step ------------------------------------------------------===//
  // Equal values should lie equally: what is computed twice would be placed, and resharded, twice.
  pm.addPass(createCSEPass());
  dist::DistAnnotatePassOptions annotate;
  annotate.mesh = options.stageSizes.empty() ? options.mesh : options.stageMesh;
  annotate.shard = options.shard;
  annotate.machine = options.machine;
  pm.addPass(dist::createDistAnnotatePass(annotate));
  verifyRung(pm, Rung::Step);
  // Leaves attributes, which the next pass consumes: nothing may run between.
  pm.addPass(dist::createDistPropagatePass());
  dist::DistInsertReshardsPassOptions reshards;
  reshards.liveBytes = options.liveBytes;
  pm.addPass(dist::createDistInsertReshardsPass(reshards));
  pm.addPass(dist::createDistWidenInputsPass());
  //===--- Rung sharded ---------------------------------------------------===//
  verifyRung(pm, Rung::Sharded);
}

/// One rank: local shapes, collectives.
void buildLocalProgram(OpPassManager &pm) {
  pm.addPass(dist::createDistPartitionPass());
  // Needs local types, and partition's steps one by one.
  pm.addPass(dist::createDistOptimizeCollectivesPass());
  // Before bundles are made: they hold one type.
  pm.addPass(dist::createDistWidenPartialSumsPass());
}

/// What loops save, and what is left to do to collectives.
void buildBundledProgram(OpPassManager &pm, const CompileOptions &options) {
  if (options.savedBytes >= 0) {
    // Here every exchange is an op of its own, with its type and its time.
    dist::DistChooseSavedPassOptions saved;
    saved.bytes = options.savedBytes;
    saved.keep = options.isRecomputeGiven;
    pm.addPass(dist::createDistChooseSavedPass(saved));
    // What backward makes again it may make already.
    pm.addPass(createCSEPass());
  }
  if (!options.stageSizes.empty() && options.task == Task::Train) {
    // Before bundles are made: they would tie forward to backward. Entries that drop nothing first.
    pm.addPass(graph::createLeaveOutDropout());
    dist::DistSplitStagePassOptions split;
    split.splitsBackward = options.splitsBackward;
    pm.addPass(dist::createDistSplitStagePass(split));
  }
  // What is left stands where it will run: loops have given up what they can.
  pm.addPass(dist::createDistBundleCollectivesPass());
  // Up to here a collective is one op, which others can join.
  pm.addPass(dist::createDistStageCollectivesPass());
  // Counts what is left.
  pm.addPass(dist::createDistReportPaddingPass());
  pm.addPass(dist::createDistReportWeightsPass());
  // Last: both entries are what partition and its clean-up made of one.
  if (options.stageSizes.empty())
    pm.addPass(graph::createLeaveOutDropout());
  //===--- Rung spmd ------------------------------------------------------===//
  verifyRung(pm, Rung::Spmd);
}

/// Fused loops, library calls, communication.
static void buildKernels(OpPassManager &pm, const CompileOptions &options) {
  // Equal values once: kernels take each operand once.
  pm.addPass(createCSEPass());
  SpmdToKernelsOptions kernels;
  kernels.target = options.target;
  kernels.targetOptions = printTargetOptions(options.targetOptions);
  pm.addPass(createSpmdToKernels(kernels));
  // Kernels are made: what is pipelined calls them as they are.
  if (options.overlap)
    pm.addPass(exec::createExecPipelineLoops());
  verifyRung(pm, Rung::Kernels);
}

/// What entries do to memory: a mistake here would be wrong numbers.
void buildExecChecks(OpPassManager &pm) {
  pm.addPass(exec::createVerifyExecMemory());
  pm.addPass(exec::createExecVerifyOrder());
  pm.addPass(exec::createExecVerifyVariables());
}

/// Every value a place in the arena, all work a stream.
static void buildExec(OpPassManager &pm, const CompileOptions &options) {
  KernelsToExecOptions places;
  exec::ExecAssignStreamsOptions streams;
  if (auto target = resolveTarget(options.target, options.targetOptions))
    streams.communication = (*target)->streams().communication;
  places.communication = streams.communication || options.overlap;
  pm.addPass(createKernelsToExec(places));
  // Needs places: values that share one must be ordered as well.
  pm.addPass(exec::createExecAssignStreams(streams));
  // Nothing where there are streams.
  if (options.overlap)
    pm.addPass(exec::createExecStartCollectives());
  verifyRung(pm, Rung::Exec);
  buildExecChecks(pm);
}

/// The LLVM dialect and the manifest.
void buildUncheckedBinary(OpPassManager &pm, const CompileOptions &options) {
  //===--- Kernels: tensors -> buffers -> vectors -> LLVM -----------------===//
  // A target that cannot be resolved is reported by exec-to-llvm.
  if (auto target = resolveTarget(options.target, options.targetOptions))
    (*target)->buildKernelPipeline(pm);
  //===--- Host: calls of the runtime, and the manifest -------------------===//
  // After the kernels: launches take their addresses.
  ExecToLLVMOptions host;
  host.target = options.target;
  host.targetOptions = printTargetOptions(options.targetOptions);
  pm.addPass(createExecToLLVM(host));
}

static void buildBinary(OpPassManager &pm, const CompileOptions &options) {
  // Again, for programs that begin here: those that are written by hand. It costs a millisecond.
  buildExecChecks(pm);
  buildUncheckedBinary(pm, options);
}

void buildPhase(OpPassManager &whole, Rung rung, const CompileOptions &options) {
  if (rung == Rung::Graph) // made by import, or by a person
    return verifyRung(whole, Rung::Graph);
  if (rung == Rung::Step) {
    whole.addPass(graph::createNameCalls());
    return options.task == Task::Train ? buildTrainStep(whole, options) : buildStep(whole, options);
  }
  OpPassManager &pm = programs(whole, options);
  switch (rung) {
  case Rung::Graph:
  case Rung::Step:
    break;
  case Rung::Sharded:
    buildSharded(pm, options);
    if (!options.stageSizes.empty())
      whole.addPass(dist::createDistCheckShardItemsPass());
    return verifyStages(whole, options);
  case Rung::Spmd:
    buildLocalProgram(pm);
    buildBundledProgram(pm, options);
    return verifyStages(whole, options);
  case Rung::Kernels:
    return buildKernels(pm, options);
  case Rung::Exec:
    return buildExec(pm, options);
  case Rung::Binary:
    buildBinary(pm, options);
    if (!options.stageSizes.empty()) {
      LinkStagesOptions link;
      link.mesh = options.mesh;
      whole.addPass(createLinkStages(link));
    }
    if (!options.version.empty()) {
      NameVersionOptions name;
      name.version = options.version;
      whole.addPass(createNameVersion(name));
    }
  }
}

void buildVersionTable(OpPassManager &pm, ArrayRef<std::string> versions) {
  ListVersionsOptions list;
  for (const std::string &version : versions)
    list.versions.push_back(version);
  pm.addPass(createListVersions(list));
}

void buildPhases(OpPassManager &pm, Rung first, Rung last, const CompileOptions &options) {
  for (int rung = int(first); rung <= int(last); ++rung)
    buildPhase(pm, Rung(rung), options);
}

void buildStagePhases(OpPassManager &pm, Rung last, const CompileOptions &options, ArrayRef<int64_t> layers,
                      bool inParts) {
  CompileOptions staged = options;
  staged.stageSizes.assign(layers.begin(), layers.end());
  staged.stageCoordinates.clear();
  staged.stageMesh = options.mesh;
  buildPhases(pm, Rung::Step, std::min(last, Rung::Sharded), staged);
  if (last <= Rung::Sharded)
    return;
  OpPassManager &stage = programs(pm, staged);
  buildLocalProgram(stage);
  // Without stages steps are not cut.
  buildBundledProgram(stage, inParts ? staged : options);
  verifyStages(pm, staged);
}

} // namespace tessera
