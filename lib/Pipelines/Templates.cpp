//===- Templates.cpp - Templates as items of --shard ----------------------===//
#include "Templates.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace tessera {

/// What of VALUE:DIM=AXES says which dimensions it is of.
static StringRef subjectOf(StringRef item) { return item.split('=').first.trim(); }

Status fillIn(const Template &chosen, CompileOptions &options) {
  auto refuse = [&](const llvm::Twine &why, const llvm::Twine &hint) {
    return Failure{"cannot compile", ("--template=" + chosen.name).str(), why.str(), hint.str()};
  };
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  if (!mesh)
    return {};
  for (StringRef axis : llvm::split(chosen.axes, ','))
    if (!mesh->find(axis.str()))
      return refuse("the mesh has no axis " + axis, "give --mesh=" + axis + "=SIZE");
  const bool training = options.task == Task::Train;
  if (!training && chosen.shard.empty() && StringRef(chosen.trainShard).starts_with(dist::kStates))
    return refuse("it shards what an optimizer keeps, and generate has none",
                  "give --task=train, or choose --template=ddp");
  const std::string given = options.shard;
  auto add = [&](StringRef items) {
    for (StringRef item : llvm::split(items, ','))
      if (!item.empty() && llvm::none_of(llvm::split(given, ','), [&](StringRef other) {
            return subjectOf(other) == subjectOf(item);
          }))
        options.shard += (options.shard.empty() ? "" : ",") + item.str();
  };
  add(chosen.shard);
  const bool narrow = (options.dtype == "bf16" || options.dtype == "f16") && !chosen.narrowShard.empty() &&
                      !mesh->find("fsdp");
  if (training)
    add(narrow ? chosen.narrowShard : chosen.trainShard);
  return {};
}

} // namespace tessera
