// A Hugging Face directory: config.json, model.safetensors or model.safetensors.index.json with its shards,
// texts.
#include "Readers.h"
#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/io/Quantization.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tessera::io {

// Whether a name leads to a file of the folder or of folders in it ("step-20/model.safetensors", as saves of
// training runs have it), never out of it.
static bool isBelow(const std::string &name) {
  for (size_t at = 0; at <= name.size();) {
    size_t slash = std::min(name.find('/', at), name.size());
    std::string part = name.substr(at, slash - at);
    if (part.empty() || part == "." || part == "..")
      return false;
    at = slash + 1;
  }
  return name.find('\0') == std::string::npos;
}

static bool endsWith(std::string_view name, std::string_view end) {
  return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
}

// {"weight_map": {TENSOR: FILE}, ...}: reads the files, each once, and checks that every tensor is where the
// index says.
static Status readShards(const DirectoryFiles &directory, const MappedFile &index,
                         DirectoryContents &contents) {
  Result<nlohmann::json> json = parseJson(index.text(), index.where());
  if (!json)
    return Failure{cannotReadModel, json.failure().where, json.failure().why, isItWhole};
  auto bad = [&](const std::string &why) { return Failure{cannotReadModel, index.where(), why, isItWhole}; };
  if (!json->is_object() || !json->contains("weight_map") || !(*json)["weight_map"].is_object())
    return bad("it has no \"weight_map\"");
  const nlohmann::json &map = (*json)["weight_map"];
  if (map.empty())
    return bad("its \"weight_map\" names no tensor");
  std::set<std::string> shards;
  for (const auto &[tensor, shard] : map.items()) {
    if (!shard.is_string())
      return bad("the file of tensor " + tensor + " is not a name");
    const std::string &name = shard.get_ref<const std::string &>();
    if (!isBelow(name))
      return bad("tensor " + tensor + " is said to be in \"" + name +
                 "\", which is not the name of a file beside the index, or below it");
    shards.insert(name);
  }
  std::unordered_map<std::string, std::string> foundIn; // tensor -> shard
  for (const std::string &shard : shards) {
    Result<std::shared_ptr<MappedFile>> file = directory.open(shard);
    if (!file)
      return file.takeFailure();
    if (!*file)
      return Failure{cannotReadModel, directory.where + "/" + shard,
                     "the index names this shard and it is missing", "fetch it, or all files again"};
    size_t first = contents.tensors.size();
    if (Status status = readSafetensors(**file, contents.tensors, contents.holds); !status)
      return status;
    contents.files.push_back(*file);
    for (size_t i = first; i < contents.tensors.size(); ++i) {
      auto [at, isNew] = foundIn.emplace(contents.tensors[i].name, shard);
      if (!isNew)
        return Failure{cannotReadModel, (*file)->where(),
                       "tensor " + contents.tensors[i].name + " is also in " + at->second,
                       "remove the older file"};
    }
  }
  for (const auto &[tensor, shard] : map.items()) {
    auto found = foundIn.find(tensor);
    if (found == foundIn.end())
      return bad("tensor " + tensor + " is not in " + shard.get<std::string>());
    if (found->second != shard.get_ref<const std::string &>())
      return bad("tensor " + tensor + " is in " + found->second + ", not in " + shard.get<std::string>());
  }
  return {};
}

// model.safetensors, or the shards that an index names; none at all, in no format, is fine.
static Status readWeights(const DirectoryFiles &directory, DirectoryContents &contents) {
  Result<std::shared_ptr<MappedFile>> whole = directory.open(weightsName);
  if (!whole)
    return whole.takeFailure();
  if (*whole) {
    contents.files.push_back(*whole);
    return readSafetensors(**whole, contents.tensors, contents.holds);
  }
  Result<std::shared_ptr<MappedFile>> index = directory.open(indexName);
  if (!index)
    return index.takeFailure();
  if (*index) {
    contents.files.push_back(*index);
    return readShards(directory, **index, contents);
  }
  // Weights to which neither the index nor model.safetensors leads.
  const std::string stray = directory.findName([](std::string_view name) {
    return name.rfind("model-", 0) == 0 && name.find("-of-") != name.npos && endsWith(name, ".safetensors");
  });
  if (!stray.empty())
    return Failure{cannotReadModel, directory.where, "there is " + stray + " but no " + indexName,
                   "fetch that file too"};
  return {}; // of whatever else looks like weights otherWeights() tells whoever wants them
}

// Quantized weights, as config.json says that they are. What else is wrong with that text whoever imports the
// model says.
static Status putTogether(const DirectoryFiles &directory, DirectoryContents &contents) {
  const std::string where = directory.where + "/config.json";
  Result<nlohmann::json> config = parseJson(contents.texts["config.json"], where);
  if (!config || !config->is_object() || !config->contains("quantization_config"))
    return {};
  Result<Quantization> quantization = readQuantization((*config)["quantization_config"], where);
  if (!quantization)
    return quantization.takeFailure();
  return assembleQuantized(*quantization, contents.tensors, directory.where);
}

Status readHuggingFaceDirectory(const DirectoryFiles &directory, DirectoryContents &contents) {
  for (const char *name : modelTexts) {
    Result<std::shared_ptr<MappedFile>> file = directory.open(name);
    if (!file)
      return file.takeFailure();
    if (!*file)
      continue;
    if ((*file)->size() > (size_t(256) << 20))
      return Failure{cannotReadModel, (*file)->where(), "larger than 256 MiB", isItWhole};
    if (Status status = refuseLfsPointer(**file); !status)
      return status;
    contents.texts.emplace(name, (*file)->text());
    contents.files.push_back(file.take());
  }
  if (!contents.texts.count("config.json")) {
    const std::string why = "there is no config.json in this directory",
                      gguf =
                          directory.findName([](std::string_view name) { return endsWith(name, ".gguf"); });
    if (!gguf.empty())
      return Failure{cannotReadModel, directory.where, why + ", but " + gguf, "name that file"};
    return Failure{cannotReadModel, directory.where, why, "give a Hugging Face directory or a .gguf file"};
  }
  if (Status status = readWeights(directory, contents); !status)
    return status;
  return putTogether(directory, contents);
}

} // namespace tessera::io
