//===- LinkStages.cpp - one program of those of a pipeline's stages ---------===//

#include "ProgramTables.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/PipelineAttrs.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace tessera {
#define GEN_PASS_DEF_LINKSTAGES
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;
namespace json = llvm::json;

namespace {

struct LinkStages : impl::LinkStagesBase<LinkStages> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto pipelines = llvm::to_vector(module.getOps<dist::PipelineOp>());
    if (pipelines.size() != 1) {
      module.emitError() << "has " << pipelines.size() << " dist.pipelines: expected one";
      return signalPassFailure();
    }
    dist::PipelineOp pipeline = pipelines.front();
    llvm::MapVector<StringAttr, json::Object> programs; // by their modules' names
    for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>()) {
      auto found = module.lookupSymbol<ModuleOp>(stage.getProgram());
      auto text = found ? found.lookupSymbol<LLVM::GlobalOp>(kManifestSymbol) : LLVM::GlobalOp();
      auto value = text ? dyn_cast_or_null<StringAttr>(text.getValueAttr()) : StringAttr();
      if (!value) {
        pipeline.emitOpError() << "names " << stage.getProgram() << ", which is no program with a manifest";
        return signalPassFailure();
      }
      llvm::Expected<json::Value> manifest = json::parse(value.getValue());
      if (!manifest) {
        pipeline.emitOpError() << "names " << stage.getProgram()
                               << ", whose manifest is no JSON: " << llvm::toString(manifest.takeError());
        return signalPassFailure();
      }
      programs.insert({found.getSymNameAttr(), std::move(*manifest->getAsObject())});
    }
    FailureOr<json::Object> manifest = manifestOf(pipeline, programs);
    if (failed(manifest))
      return signalPassFailure();
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(*manifest));
    SmallVector<ModuleOp> stages;
    for (auto &[name, object] : programs)
      stages.push_back(module.lookupSymbol<ModuleOp>(name));
    emitStageTables(module, stages, text);
    pipeline.erase();
    for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
      if (!attr.getName().strref().starts_with("llvm."))
        module->removeAttr(attr.getName());
  }

  using Programs = llvm::MapVector<StringAttr, json::Object>;

  FailureOr<json::Object> manifestOf(dist::PipelineOp pipeline, const Programs &programs) {
    std::string error;
    std::optional<Mesh> whole = dist::parseMeshSpec(mesh, error);
    if (!whole)
      return pipeline.emitOpError() << "has the mesh " << mesh << ": " << error;
    if (!pipeline.getLists() || !pipeline.getSchedule() || !pipeline.getSendBuffers())
      return pipeline.emitOpError() << "has no schedule: what ranks do in which order";
    json::Object manifest{{"version", 2}, {"arena_bytes", 0}};
    SmallVector<const json::Object *> all;
    for (const auto &[name, program] : programs)
      all.push_back(&program);
    if (failed(takeAgreed(pipeline, all, {"task", "dtype", "target", "model", "architecture"}, manifest)))
      return failure();
    if (std::optional<StringRef> name = manifest.getString("target"))
      if (failed(takeAgreed(pipeline, all, {*name}, manifest)))
        return failure();
    for (StringRef field : {"params", "states", "matmuls", "groups", "collectives", "entries"})
      manifest[field] = json::Array();
    json::Array axes;
    for (const MeshAxis &axis : whole->axes)
      axes.push_back(json::Array{axis.name, axis.size});
    manifest["mesh"] = std::move(axes);
    FailureOr<json::Value> train = trainOf(pipeline, programs);
    if (failed(train))
      return failure();
    manifest["train"] = std::move(*train);
    manifest["generate"] = generateOf(pipeline, programs.front().second);
    manifest["pipeline"] = pipelineOf(pipeline, programs);
    return manifest;
  }

  /// What all programs that have a field say in it, or an error: the whole has one value for all.
  static LogicalResult takeAgreed(dist::PipelineOp pipeline, ArrayRef<const json::Object *> programs,
                                  ArrayRef<StringRef> fields, json::Object &into) {
    for (StringRef field : fields)
      for (const json::Object *program : programs) {
        const json::Value *value = program->get(field);
        if (!value)
          continue;
        auto [taken, isFirst] = into.try_emplace(field, *value);
        if (!isFirst && taken->second != *value)
          return pipeline.emitOpError() << "has stages with different '" << field
                                        << "': " << valueText(taken->second) << " and " << valueText(*value);
      }
    return success();
  }
  static std::string valueText(const json::Value &value) { return llvm::formatv("{0}", value).str(); }

  /// What the stages generate, with the rows of all groups.
  static json::Value generateOf(dist::PipelineOp pipeline, const json::Object &program) {
    auto whole = pipeline->getParentOp()->getAttrOfType<graph::GenerateAttr>(graph::kGenerateAttr);
    const json::Object *own = program.getObject("generate");
    if (!whole || !own)
      return nullptr;
    json::Object generate = *own;
    generate["batch"] = whole.getBatch();
    generate.erase("rewind");
    if (whole.getRewind() >= 0)
      generate["rewind"] = whole.getRewind();
    return generate;
  }

  /// Sizes are those of all stages; what the model takes is what they take together.
  static FailureOr<json::Value> trainOf(dist::PipelineOp pipeline, const Programs &programs) {
    json::Object train;
    SmallVector<const json::Object *> all;
    int64_t flops = 0, vocab = 0;
    for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>()) {
      const json::Object *own = programs.find(stage.getProgram().getAttr())->second.getObject("train");
      if (!own)
        return json::Value(nullptr);
      all.push_back(own);
      flops += own->getInteger("flops_per_token").value_or(0);
      vocab = std::max(vocab, own->getInteger("vocab").value_or(0));
    }
    if (failed(takeAgreed(pipeline, all, {"batch", "seq", "micro_batches", "loss_scale", "gradient_state"},
                          train)))
      return failure();
    train["vocab"] = vocab;
    if (flops > 0)
      train["flops_per_token"] = flops;
    return json::Value(std::move(train));
  }

  static json::Object pipelineOf(dist::PipelineOp pipeline, const Programs &programs) {
    json::Array stages, lists, shared;
    llvm::MapVector<StringRef, json::Array> holders; // by parameter, the stages that have it
    for (auto [i, stage] : llvm::enumerate(pipeline.getStages().getAsRange<dist::StageAttr>())) {
      const auto *program = programs.find(stage.getProgram().getAttr());
      stages.push_back(json::Object{{"program", int64_t(program - programs.begin())},
                                    {"first_layer", stage.getFirst()},
                                    {"layers", stage.getLayers()},
                                    {"at", stage.getAt()}});
      for (StringRef name : sharedParameters(program->second))
        holders[name].push_back(int64_t(i));
    }
    for (auto &[name, list] : holders)
      shared.push_back(json::Object{{"parameter", name}, {"stages", std::move(list)}});
    for (auto list : pipeline.getLists()->getAsRange<StringAttr>())
      lists.push_back(list.getValue());
    json::Object object{{"axis", pipeline.getAxis()},
                        {"stages", std::move(stages)},
                        {"schedule", *pipeline.getSchedule()},
                        {"lists", std::move(lists)},
                        {"send_buffers", int64_t(*pipeline.getSendBuffers())},
                        {"shared", std::move(shared)}};
    if (auto groups = pipeline->getAttrOfType<IntegerAttr>(dist::kGroupsAttr))
      object["groups"] = groups.getInt();
    if (DictionaryAttr times = pipeline.getTimesAttr())
      object["times"] = timesOf(times);
    return object;
  }

  static json::Object timesOf(DictionaryAttr times) {
    json::Object object;
    for (NamedAttribute one : times)
      if (auto seconds = dyn_cast<DenseF64ArrayAttr>(one.getValue()))
        object[one.getName().strref()] = json::Array(seconds.asArrayRef());
    return object;
  }

  /// Those whose gradient a program gives to other stages.
  static llvm::SetVector<StringRef> sharedParameters(const json::Object &program) {
    llvm::SetVector<StringRef> names;
    for (const json::Value &entry : *program.getArray("entries"))
      for (const json::Value &output : *entry.getAsObject()->getArray("outputs")) {
        const json::Object &port = *output.getAsObject();
        StringRef name = port.getString("name").value_or("");
        if (port.getString("gives") == graph::stringifyGives(graph::Gives::SharedGradient) &&
            name.consume_front(graph::kSharedPrefix))
          names.insert(name);
      }
    return names;
  }
};

} // namespace
} // namespace tessera
