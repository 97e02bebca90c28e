#include "tessera/runtime/data/TokenText.h"

#include "tessera/runtime/io/Checksum.h"
#include "tessera/runtime/io/OutputFile.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tessera::data {

static constexpr const char *cannotTokenize = "cannot tokenize data";

// What decides the ids of a text, as one number.
static uint64_t tokenizerKey(const io::ModelFile &model) {
  if (const std::string_view *json = model.text("tokenizer.json"))
    return io::checksum(*json);
  std::string all;
  auto add = [&](std::string_view text) { all += std::to_string(text.size()) + ":" + std::string(text); };
  for (const char *name : {"tokenizer.model", "tokenizer_config.json"})
    if (const std::string_view *text = model.text(name))
      add(*text);
  for (const auto &[name, value] : model.metadata()) {
    if (name.rfind("tokenizer.", 0) != 0 && name != "general.architecture")
      continue;
    add(name);
    add(value.string);
    for (std::string_view text : value.strings)
      add(text);
    for (int64_t number : value.ints)
      add(std::to_string(number));
    for (double number : value.floats)
      add(std::to_string(number));
    add(std::to_string(value.intValue));
  }
  return io::checksum(all);
}

// 256 words, then the ids: what TokenRows reads as llm.c's stream of 32-bit ids. Words 3 and 4, which llm.c
// leaves 0, are a checksum.
constexpr size_t kHeaderWords = 256;

static std::vector<uint32_t> headerOf(const void *ids, size_t count) {
  std::vector<uint32_t> header(kHeaderWords);
  const uint64_t sum = io::checksum(ids, count * sizeof(int32_t));
  header[0] = 20240801, header[1] = 7, header[2] = uint32_t(count);
  header[3] = uint32_t(sum), header[4] = uint32_t(sum >> 32);
  return header;
}

// Whether it is what writeIds wrote: nobody else's file, and whole.
static bool isKept(const std::string &path) {
  Result<std::shared_ptr<io::MappedFile>> file = io::MappedFile::open(path);
  const size_t begin = kHeaderWords * sizeof(uint32_t);
  if (!file || (*file)->size() < begin || ((*file)->size() - begin) % sizeof(int32_t) != 0)
    return false;
  std::string_view text = (*file)->text();
  const std::vector<uint32_t> header = headerOf(text.data() + begin, (text.size() - begin) / sizeof(int32_t));
  return std::memcmp(header.data(), text.data(), begin) == 0;
}

static Status writeIds(const std::string &path, const std::vector<int32_t> &ids) {
  const std::vector<uint32_t> header = headerOf(ids.data(), ids.size());
  io::OutputFile file(path, "cannot keep tokens");
  if (Status status = file.open(); !status)
    return status;
  if (Status status = file.write(header.data(), header.size() * sizeof(uint32_t)); !status)
    return status;
  if (Status status = file.write(ids.data(), ids.size() * sizeof(int32_t)); !status)
    return status;
  return file.finish();
}

Result<std::string> tokenizeFile(const std::string &path, const io::ModelFile &model,
                                 const std::string &cacheFolder) {
  Result<std::shared_ptr<io::MappedFile>> text = io::MappedFile::open(path);
  if (!text) {
    Failure failure = text.takeFailure();
    failure.what = "cannot read data";
    failure.hint = "give a .safetensors file with `tokens`, a .bin file of ids, or a text";
    return failure;
  }
  if ((*text)->size() == 0)
    return Failure{"cannot read data", path, "it is empty", "give a text"};
  uint64_t keys[2] = {io::checksum((*text)->text()), tokenizerKey(model)};
  std::string name = (*text)->name() + ".tokens-" + io::hexText(io::checksum(keys, sizeof keys)) + ".bin";
  std::filesystem::path beside = std::filesystem::path(path).parent_path() / name,
                        cached = cacheFolder.empty() ? std::filesystem::path()
                                                     : std::filesystem::path(cacheFolder) / name;
  std::error_code none;
  for (const std::filesystem::path &kept : {beside, cached})
    if (!kept.empty() && std::filesystem::is_regular_file(kept, none) && isKept(kept.string()))
      return kept.string();

  Result<std::unique_ptr<text::Tokenizer>> tokenizer = text::Tokenizer::load(model);
  if (!tokenizer) {
    Failure failure = tokenizer.takeFailure();
    failure.what = cannotTokenize;
    failure.hint = "give token ids in a .safetensors or .bin file";
    return failure;
  }
  Result<std::vector<int32_t>> ids = (*tokenizer)->encode((*text)->text());
  if (!ids) {
    Failure failure = ids.takeFailure();
    return Failure{cannotTokenize, path, failure.why, failure.hint};
  }
  Status first = writeIds(beside.string(), *ids);
  if (first)
    return beside.string();
  if (!cached.empty()) {
    std::filesystem::create_directories(cached.parent_path(), none);
    if (writeIds(cached.string(), *ids))
      return cached.string();
  }
  Failure failure = first.takeFailure();
  failure.hint = "set XDG_CACHE_HOME to a folder that may be written";
  return failure;
}

std::string defaultCacheFolder() {
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/tessera";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/tessera";
  return {};
}

bool isText(const std::string &path) {
  std::string ending = std::filesystem::path(path).extension().string();
  return ending != ".safetensors" && ending != ".bin";
}

Result<std::unique_ptr<TokenRows>> openTokens(const std::string &path, int64_t sequence, int64_t vocabulary,
                                              const io::ModelFile &model, const std::string &cacheFolder) {
  if (!isText(path))
    return TokenRows::open(path, sequence, vocabulary);
  Result<std::string> ids = tokenizeFile(path, model, cacheFolder);
  if (!ids)
    return ids.takeFailure();
  return TokenRows::open(*ids, sequence, vocabulary, path);
}

} // namespace tessera::data
