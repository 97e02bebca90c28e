// What a training run leaves behind, and goes on from: saves, and logs.
#include "Targets.h"
#include "tessera/runtime/checkpoint/Checkpoint.h"
#include "tessera/runtime/io/Checksum.h"
#include "tessera/runtime/plot/Plot.h"

#include <cstring>
#include <filesystem>

namespace tessera::fuzz {

// `text` with `value` for each `what`.
static std::string replaced(std::string text, std::string_view what, const std::string &value) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

// The bytes of a safetensors file up to its tensors', as far as it has them.
static size_t headBytes(std::string_view file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), std::min(sizeof length, file.size()));
  return size_t(std::min<uint64_t>(file.size(), length < file.size() ? length + sizeof length : file.size()));
}

// A program of one weight, `a`.
static std::vector<runtime::ParamSpec> oneWeight() {
  runtime::ParamSpec weight;
  weight.name = "a";
  weight.shape = weight.local = {2, 3};
  weight.sharding.resize(2);
  weight.sources = {{"a", {2, 3}, {2, 3}, {{0, 2}, {0, 3}}, {0, 1}}};
  return {weight};
}

// What a save's mark says behind its checksum, behind a NUL the index of the folder, if there is any, and
// behind another the weights. No mutation hits a checksum or a size, so the mark may have them as @C and @H,
// of the weights' header, @B, of all their bytes, and @T, of config.json. A mark that does not begin with `{`
// is one as it is, and so are weights behind a `!`.
void runCheckpoint(std::string_view input) {
  static const Folder folder;
  std::filesystem::create_directory(folder.path() + "/step-1");
  Parts parts = splitAtNul(input), more = splitAtNul(parts.second.value_or(""));
  const std::string_view tensors = more.second.value_or("{}");
  std::string weights = tensors.substr(0, 1) == "!" ? std::string(tensors.substr(1)) : safetensorsOf(tensors);
  std::string mark(parts.first);
  const std::string_view head = std::string_view(weights).substr(0, headBytes(weights));
  for (const auto &[what, value] : {std::pair("@B", std::to_string(weights.size())),
                                    {"@H", std::to_string(head.size())},
                                    {"@C", io::hexText(io::checksum(head))},
                                    {"@T", io::hexText(io::checksum("{}"))}})
    mark = replaced(mark, what, value);
  if (mark.substr(0, 1) == "{") {
    mark = "\"," + mark.substr(1);
    mark = "{\"checksum\":\"" + io::hexText(io::checksum(mark)) + mark;
  }
  folder.write("step-1/config.json", "{}");
  folder.write("step-1/model.safetensors", weights);
  folder.write(std::string("step-1/") + checkpoint::markName, mark);
  folder.remove(checkpoint::indexName);
  if (!more.first.empty())
    folder.write(checkpoint::indexName, more.first);
  auto save = checkpoint::Checkpoint::open(folder.path());
  if (!save)
    return expectOneLine(save.failure());
  for (int part = 0; part < 2; ++part)
    if (Status status = (*save)->verify(part, 2); !status)
      expectOneLine(status.failure());
  if (Status status = (*save)->checkModel(checkpoint::weightsName, oneWeight()); !status)
    expectOneLine(status.failure());
}

// A log: drawn, and gone on from.
void runLog(std::string_view input) {
  constexpr int64_t kKept = 3;
  static const Folder folder;
  folder.write("log.jsonl", input);
  const std::string path = folder.path() + "/log.jsonl";
  auto lines = train::readLog(path);
  if (lines)
    expect(plot::plotPage({{"log", lines.take()}}).size() < 1 << 20, "a page is no larger for many steps");
  else
    expectOneLine(lines.failure());
  const std::vector<std::string> paths = wordsOf(input.substr(0, 1000));
  expect(plot::shortNames(paths).size() == paths.size(), "each log has a name");
  if (Status status = train::TrainingLog::check(path); !status)
    expectOneLine(status.failure());
  auto log = train::TrainingLog::open(path, kKept);
  if (!log)
    return expectOneLine(log.failure());
  train::LogLine line;
  line.step = kKept + 1;
  line.loss = double(input.size());
  expect(bool(log->write(line)), "a log can be gone on with");
  auto all = train::readLog(path);
  expect(all && all->back().step == line.step && all->back().loss == line.loss,
         "what is written behind a log is read as its last line");
}

} // namespace tessera::fuzz
