#include "tessera/runtime/io/Embed.h"

#include "EmbedTable.h"
#include "WriteAll.h"
#include "tessera/runtime/io/ModelFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::io {

static constexpr size_t pageBytes = 4096;

namespace {
// An executable open for appending, cut back to its old size unless the work is finished.
class Appender {
public:
  explicit Appender(std::string path) : path_(std::move(path)) {}
  ~Appender() {
    if (fd_ < 0)
      return;
    // Only a failed write comes here. Should cutting fail too, the file has no trailer and reads as carrying
    // no model.
    [[maybe_unused]] int cut = ftruncate(fd_, off_t(oldSize_));
    ::close(fd_);
  }

  Status open() {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    struct stat info;
    if (fd_ < 0 || fstat(fd_, &info) != 0)
      return failure();
    oldSize_ = size_ = uint64_t(info.st_size);
    return {};
  }
  uint64_t size() const { return size_; }

  Status write(const void *data, size_t bytes) {
    bool done = writeAll(data, bytes, [&](const char *from, size_t left) {
      ssize_t written = pwrite(fd_, from, std::min(left, size_t(8) << 20), off_t(size_));
      size_ += uint64_t(std::max<ssize_t>(written, 0));
      return written;
    });
    if (!done)
      return failure();
    return {};
  }
  Status padToPage() {
    static const char zeros[pageBytes] = {};
    return write(zeros, size_t((pageBytes - size_ % pageBytes) % pageBytes));
  }
  Status finish() {
    int fd = fd_;
    fd_ = -1;
    if (::close(fd) == 0)
      return {};
    Failure result = failure();
    if (truncate(path_.c_str(), off_t(oldSize_)) != 0)
      result.hint = "remove it";
    return result;
  }

private:
  Failure failure() const {
    return {"cannot embed the weights", path_, std::strerror(errno),
            errno == ENOSPC ? "free some space" : "check the path"};
  }
  std::string path_;
  int fd_ = -1;
  uint64_t oldSize_ = 0, size_ = 0;
};
} // namespace

Status embedModel(const std::string &executablePath, const std::string &modelPath) {
  Result<std::unique_ptr<ModelFile>> model = ModelFile::open(modelPath);
  if (!model)
    return model.takeFailure();
  auto bad = [&](const std::string &where, const std::string &why, const std::string &hint) {
    return Failure{"cannot embed the weights", where, why, hint};
  };
  if (!(*model)->hasWeights())
    return bad(modelPath, "this model has no weights", "give a directory that has them");
  {
    Result<std::unique_ptr<ModelFile>> before = ModelFile::openEmbedded(executablePath);
    if (!before)
      return before.takeFailure();
    if (*before)
      return bad(executablePath, "it carries a model already", "compile again");
  }

  Appender out(executablePath);
  if (Status status = out.open(); !status)
    return status;
  nlohmann::json table;
  table["format"] = (*model)->format() == ModelFormat::HuggingFace ? "huggingface"
                    : (*model)->format() == ModelFormat::Gguf      ? "gguf"
                                                                   : "safetensors";
  table["files"] = nlohmann::json::array();
  if (Status status = out.write(embedBegin.data(), embedBegin.size()); !status)
    return status;
  for (const std::shared_ptr<MappedFile> &file : (*model)->files()) {
    if (Status status = out.padToPage(); !status)
      return status;
    table["files"].push_back({{"name", file->name()}, {"offset", out.size()}, {"bytes", file->size()}});
    constexpr size_t step = size_t(8) << 20;
    for (size_t at = 0; at < file->size(); at += step) {
      size_t bytes = std::min(step, file->size() - at);
      if (Status status = out.write(file->data() + at, bytes); !status)
        return status;
      dropPages(file->data() + at, bytes);
    }
  }
  std::string text = table.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  uint64_t words[2] = {out.size(), text.size()};
  if (Status status = out.write(text.data(), text.size()); !status)
    return status;
  if (Status status = out.write(words, sizeof words); !status)
    return status;
  if (Status status = out.write(embedMagic.data(), embedMagic.size()); !status)
    return status;
  return out.finish();
}

} // namespace tessera::io
