//===- Made.cpp -----------------------------------------------------------===//
#include "Made.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Target/Target.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/OtherWeights.h"
#include "tessera/runtime/text/ChatTemplate.h"
#include "tessera/runtime/text/Tokenizer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <ctime>
#include <map>

using namespace mlir;

namespace tessera {

/// As a shell takes it. A file of this folder needs its ./ to be run.
static std::string commandFor(llvm::StringRef path) {
  std::string word = llvm::sys::path::parent_path(path).empty() ? "./" + path.str() : path.str();
  const bool isPlain =
      llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("/._-+,@%").contains(c); });
  if (isPlain)
    return word;
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

namespace {

/// The command that a program and its model's files are good for: it works as it stands, FILE (data) aside.
class Trial {
public:
  explicit Trial(const runtime::Manifest &manifest) : manifest(manifest) {
    // Where the program looks for it, too.
    if (auto opened = io::ModelFile::open(manifest.model))
      model = opened.take();
  }

  std::string command() const {
    if (manifest.train)
      return "train" + weights() + " --data=FILE --steps=100";
    if (!manifest.generate)
      return "info";
    std::unique_ptr<text::Tokenizer> tokenizer;
    if (model)
      if (auto loaded = text::Tokenizer::load(*model))
        tokenizer = loaded.take();
    if (tokenizer && hasWeights() && chats(*tokenizer))
      return "chat";
    return "generate" + prompt(tokenizer.get()) + weights();
  }

private:
  /// Weights that the program takes: those of GGUF files, quantized for the most part, are not trained.
  bool hasWeights() const {
    return model && model->hasWeights() && model->holds().empty() &&
           !(manifest.train && model->format() == io::ModelFormat::Gguf);
  }

  std::string weights() const { return hasWeights() ? "" : " --init=random:1"; }

  /// Whether the program takes these ids, with room for one more.
  bool fit(llvm::ArrayRef<int32_t> ids) const {
    return int64_t(ids.size()) < manifest.generate->maxSeqLen &&
           llvm::all_of(ids, [&](int32_t id) { return id >= 0 && id < manifest.generate->vocab; });
  }

  bool chats(const text::Tokenizer &tokenizer) const {
    auto chat = text::ChatTemplate::load(*model);
    if (!chat)
      return false;
    text::Conversation conversation;
    conversation.messages.push_back({{"role", "user"}, {"content", "Hello"}});
    auto said = chat->render(conversation, std::tm{});
    if (!said)
      return false;
    auto ids = text::encodeConversation(tokenizer, *said);
    return ids && fit(*ids);
  }

  /// With as many new tokens as there is room for, but few: somebody waits for them.
  std::string prompt(const text::Tokenizer *tokenizer) const {
    auto withNew = [&](const std::string &prompt, size_t tokens, int64_t most) {
      const int64_t room = manifest.generate->maxSeqLen - int64_t(tokens);
      return prompt + " --max-new-tokens=" + std::to_string(std::min(room, most));
    };
    const std::string text = "Once upon a time";
    if (tokenizer)
      if (auto ids = tokenizer->encode(text); ids && fit(*ids))
        return withNew(" --prompt=\"" + text + "\"", ids->size(), 32);
    const int32_t all[] = {1, 2, 3};
    llvm::ArrayRef<int32_t> ids = all;
    while (ids.size() > 1 && !fit(ids))
      ids = ids.drop_back();
    std::string list;
    for (int32_t id : ids)
      list += (list.empty() ? "" : ",") + std::to_string(id);
    return withNew(" --tokens=" + list, ids.size(), 16);
  }

  const runtime::Manifest &manifest;
  std::unique_ptr<io::ModelFile> model; ///< null: none is there that could be read
};

} // namespace

std::string describeMade(const CompileOptions &options, const runtime::Manifest &manifest) {
  uint64_t bytes = 0;
  (void)llvm::sys::fs::file_size(options.output, bytes);
  const int64_t ranks = manifest.mesh.size();
  return llvm::formatv("made {0} ({1:f1} MB, {2} {3}, {4}); try: {5} {6}\n", options.output,
                       double(bytes) / 1e6, ranks, ranks == 1 ? "rank" : "ranks", options.target,
                       commandFor(options.output), Trial(manifest).command());
}

std::string idleAxes(ModuleOp graph, const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  const bool isAsked = mesh && llvm::any_of(mesh->axes, [](const MeshAxis &axis) {
                         return axis.name == "ep" && axis.size > 1;
                       });
  if (!isAsked)
    return {};
  // Who names the axis has something for it.
  if (auto items = dist::parseShardSpec(options.shard, *mesh, error))
    for (const dist::ShardItem &item : *items)
      for (const AxisRef &axis : item.axes)
        if (mesh->axes[size_t(axis.axis)].name == "ep")
          return {};
  bool hasExperts = false;
  graph.walk([&](FunctionOpInterface function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto dims = function.getArgAttrOfType<ArrayAttr>(i, graph::kDimsAttr))
        hasExperts |=
            llvm::any_of(dims.getAsValueRange<StringAttr>(), [](StringRef dim) { return dim == "expert"; });
  });
  if (hasExperts)
    return {};
  return "warning (--mesh=" + options.mesh +
         "): the model has no experts, so the ranks of ep all do the same; leave ep out, or use tp or dp\n";
}

std::string unusedInFiles(ModuleOp graph, const CompileOptions &options) {
  if (isProgramText(options))
    return {};
  Result<std::unique_ptr<io::ModelFile>> model = io::ModelFile::open(options.model);
  if (!model)
    return {};
  std::string warnings;
  auto warn = [&](const std::string &why, const std::string &hint) {
    warnings += "warning (" + options.model + "): " + why + "; " + hint + "\n";
  };
  if (const std::string &name = io::otherWeights(**model); !name.empty())
    warn("the weights are in " + name + ", which is not read",
         std::string("convert them to model.safetensors, or give the program --model=FILE") +
             (options.task == Task::Train ? " or --init=random:1" : ""));
  // Where there is one at all, and a program that would use it.
  const io::ModelFile &file = **model;
  if (options.compileTo == Rung::Binary &&
      (file.text("tokenizer.json") || file.text("tokenizer.model") || file.metadata("tokenizer.ggml.model")))
    if (auto tokenizer = text::Tokenizer::load(file); !tokenizer)
      warn("the tokenizer cannot be used: " + tokenizer.failure().why,
           options.task == Task::Train ? "mend its files, or give --data as token ids"
                                       : "mend its files, or give prompts as token ids with --tokens");
  auto forward = graph.lookupSymbol<FunctionOpInterface>("forward");
  auto logits = forward && forward.getNumResults() > 0
                    ? dyn_cast<RankedTensorType>(forward.getResultTypes().front())
                    : RankedTensorType();
  Result<std::vector<int32_t>> ends = text::endTokens(**model);
  if (!logits || !ends)
    return warnings;
  std::vector<int32_t> beyond = ends.take();
  llvm::erase_if(beyond, [&](int32_t id) { return id < logits.getShape().back(); });
  if (beyond.empty())
    return warnings;
  const bool isOne = beyond.size() == 1;
  warn("end token" + std::string(isOne ? " " : "s ") +
           llvm::join(llvm::map_range(beyond, [](int32_t id) { return std::to_string(id); }), ", ") +
           (isOne ? " is" : " are") + " beyond the vocabulary of " +
           std::to_string(logits.getShape().back()) +
           " tokens: " + (isOne ? "it never comes" : "they never come"),
       "correct what its files say of end tokens, or take the files of one model");
  return warnings;
}

std::string idleFlags(ModuleOp graph, const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  if ((mesh && mesh->numDevices() > 1) || dist::getMesh(graph))
    return {};
  std::string warnings;
  auto warn = [&](const std::string &flag, const std::string &why) {
    warnings += "warning (" + flag + "): there is one rank, so " + why +
                "; leave it out, or give --mesh=AXIS=SIZE,... as well\n";
  };
  if (!options.overlap)
    warn("--overlap=off", "nothing is sent that could overlap");
  // A machine also says what times are of, and how long it takes to compute again what memory has no room
  // for.
  if (!options.machine.empty() && !options.explain && options.report.empty() && options.memory == 0)
    warn("--machine", "nothing is weighed by its links");
  return warnings;
}

std::string fasterType(ModuleOp graph, const CompileOptions &options) {
  if (options.task != Task::Generate || options.compileTo != Rung::Binary || isProgramText(options) ||
      (!options.dtype.empty() && options.dtype != "f32"))
    return {};
  std::vector<TargetOptions> machines = {options.targetOptions};
  if (auto versions = targetVersions(options.target, options.targetOptions); !versions.empty()) {
    machines.clear();
    for (const TargetVersion &version : versions)
      machines.push_back(version.options);
  }
  const bool isFaster = llvm::any_of(machines, [&](const TargetOptions &machine) {
    auto target = resolveTarget(options.target, machine);
    return target && (*target)->multipliesFaster(io::DType::BF16) &&
           llvm::any_of(graph.getOps<graph::ParameterOp>(), [&](graph::ParameterOp parameter) {
             auto held = parameter->getAttrOfType<ArrayAttr>(graph::kHeldAttr);
             return held && llvm::all_of(held.getAsValueRange<StringAttr>(), [&](StringRef name) {
                      auto type = io::weightTypeFromFileName(name);
                      return type && (*target)->holdsBlocks(*type);
                    });
           });
  });
  if (!isFaster)
    return {};
  return std::string("hint (--dtype=f32): weights stay quantized, and ") +
         (machines.size() == 1 ? "the CPU that it is for multiplies" : "some CPUs multiply") +
         " bfloat16: with --dtype=bf16 prompts are read faster\n";
}

std::string idleRanks(const CompileOptions &options) {
  const size_t stages = options.stageSizes.size();
  if (!options.stages.empty() || stages == 0) // who gives the sizes knows
    return {};
  std::map<int64_t, bool> isBusy; // by coordinate
  for (size_t stage = 0; stage < stages; ++stage)
    isBusy[options.stageCoordinates[stage]] |=
        options.stageSizes[stage] > 0 || stage == 0 || stage + 1 == stages;
  const int64_t idle = llvm::count_if(isBusy, [](auto &rank) { return !rank.second; });
  if (idle == 0)
    return {};
  return llvm::formatv("warning (--mesh={0}): {1} of {2} coordinates on pp have no layers and only pass on "
                       "what they receive; give --mesh=pp={3}, with the other axes as they are\n",
                       options.mesh, idle, isBusy.size(), isBusy.size() - size_t(idle));
}

} // namespace tessera
