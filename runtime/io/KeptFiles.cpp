#include "tessera/runtime/io/KeptFiles.h"
#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/io/MappedFile.h"
#include "tessera/runtime/io/ModelFile.h"

#include <algorithm>
#include <iterator>

namespace fs = std::filesystem;

namespace tessera::io {

// Where a file is, or would be made: links followed, even those to what is not there.
static fs::path placeOf(const std::string &path) {
  std::error_code none;
  fs::path at = path;
  for (int links = 0; links < 40 && fs::is_symlink(at, none); ++links) {
    fs::path to = fs::read_symlink(at, none);
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return fs::weakly_canonical(fs::absolute(at, none), none);
}

static std::vector<fs::path> entriesOf(const std::string &folder) {
  std::error_code none;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    entries.push_back(at->path());
  return entries;
}

static bool endsWith(const std::string &name, const std::string &end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

void KeptFiles::add(const std::string &path, const std::string &why) {
  if (!path.empty())
    files_.push_back({path, placeOf(path), why});
}

void KeptFiles::addFolder(const std::string &folder, const std::string &why) {
  std::error_code none;
  for (const fs::path &entry : entriesOf(folder))
    if (!fs::is_directory(entry, none))
      add(entry.string(), why);
}

void KeptFiles::addModel(const std::string &path) {
  const std::string why = "it is a file of the model, which would be lost";
  add(path, why);
  // Nor may there be new ones, which the model would be read from.
  std::error_code none;
  if (fs::is_directory(path, none)) {
    const auto keepName = [&](const std::string &name) {
      if (!fs::exists(path + "/" + name, none))
        add(path + "/" + name, "the model would be read from a file of that name");
    };
    for (const char *name : modelTexts)
      keepName(name);
    for (const char *name : modelWeights)
      keepName(name);
  }
  for (const fs::path &entry : entriesOf(path)) {
    const std::string name = entry.filename().string();
    const bool isIndex = endsWith(name, ".safetensors.index.json");
    if (isIndex || endsWith(name, ".safetensors") ||
        std::find(std::begin(modelTexts), std::end(modelTexts), name) != std::end(modelTexts))
      add(entry.string(), why);
    if (!isIndex)
      continue;
    // Its shards may have any name, and lie in folders: saves of training runs do.
    Result<std::shared_ptr<MappedFile>> file = MappedFile::open(entry.string());
    if (!file)
      continue;
    const Result<nlohmann::json> index = parseJson((*file)->text(), entry.string());
    if (!index || !index->is_object() || !index->contains("weight_map"))
      continue;
    std::vector<std::string> shards;
    for (const nlohmann::json &shard : (*index)["weight_map"])
      if (shard.is_string())
        shards.push_back(shard.get<std::string>());
    std::sort(shards.begin(), shards.end());
    shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
    for (const std::string &shard : shards)
      add(path + "/" + shard, why);
  }
}

std::string KeptFiles::claim(const std::string &path, const std::string &flag) {
  std::error_code none;
  if (path.empty() || (fs::exists(path, none) && !fs::is_regular_file(path, none)))
    return {};
  const fs::path place = placeOf(path);
  for (const File &file : files_)
    if (file.place == place || fs::equivalent(file.path, path, none))
      return file.why;
  files_.push_back({path, place, flag.substr(0, flag.find_last_not_of("= ") + 1) + " writes that file, too"});
  return {};
}

} // namespace tessera::io
