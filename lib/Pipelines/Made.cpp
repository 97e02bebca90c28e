//===- Made.cpp -----------------------------------------------------------===//
#include "Made.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/text/ChatTemplate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

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

/// What of `generate` or `chat` the model's files are good for.
static std::string trial(const CompileOptions &options) {
  if (options.task == Task::Train)
    return "train --data=FILE --steps=100";
  const std::string ids = "generate --tokens=1,2,3 --max-new-tokens=16";
  if (llvm::StringRef(options.model).ends_with(".mlir"))
    return ids + " --init=random:1";
  auto model = io::ModelFile::open(options.model);
  if (!model)
    return ids + " --init=random:1";
  const std::string weights = (*model)->hasWeights() ? "" : " --init=random:1";
  if (!text::Tokenizer::load(**model))
    return ids + weights;
  if (weights.empty() && text::ChatTemplate::load(**model))
    return "chat";
  return "generate --prompt=\"Once upon a time\" --max-new-tokens=32" + weights;
}

std::string describeMade(const CompileOptions &options) {
  uint64_t bytes = 0;
  (void)llvm::sys::fs::file_size(options.output, bytes);
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  const int64_t ranks = mesh ? mesh->numDevices() : 1;
  return llvm::formatv("made {0} ({1:f1} MB, {2} {3}, {4}); try: {5} {6}\n", options.output,
                       double(bytes) / 1e6, ranks, ranks == 1 ? "rank" : "ranks", options.target,
                       commandFor(options.output), trial(options));
}

std::string idleAxes(ModuleOp graph, const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  const bool isAsked = mesh && llvm::any_of(mesh->axes, [](const MeshAxis &axis) {
                         return axis.name == "ep" && axis.size > 1;
                       });
  if (!isAsked || llvm::StringRef(options.shard).contains("ep"))
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

} // namespace tessera
