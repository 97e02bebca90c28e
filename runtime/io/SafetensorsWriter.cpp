#include "tessera/runtime/io/SafetensorsWriter.h"

#include "WriteAll.h"

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tessera::io {

namespace {
// A file being written. It is whole before it has its name: until finish() whatever had that name stays as it
// is, however this process ends. What is no file (a pipe, /dev/full) is written to as it is.
class OutputFile {
public:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  ~OutputFile() {
    if (fd_ >= 0)
      ::close(fd_);
    if (!temporary_.empty())
      unlink(temporary_.c_str());
  }
  Status open() {
    struct stat info;
    bool exists = stat(path_.c_str(), &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      return fd_ < 0 ? Status(failure()) : Status();
    }
    if (exists && access(path_.c_str(), W_OK) != 0)
      return failure();
    target_ = path_;
    if (char *real =
            exists ? realpath(path_.c_str(), nullptr) : nullptr) { // of a link the file that it means
      target_ = real;
      free(real);
    }
    // Without a name where the file system can: then nothing stays if this process is killed.
    size_t slash = target_.rfind('/');
    std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    unnamed_ = fd_ >= 0;
    if (!unnamed_ && !inTemporaryName([&](const char *name) {
          return (fd_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0;
        }))
      return failure();
    if (exists && fchmod(fd_, info.st_mode & 07777) != 0)
      return failure();
    return {};
  }
  Status write(const void *data, size_t bytes) {
    if (!writeAll(data, bytes, [&](const char *from, size_t left) { return ::write(fd_, from, left); }))
      return failure();
    return {};
  }
  Status rewind() {
    if (lseek(fd_, 0, SEEK_SET) != 0)
      return failure();
    return {};
  }
  Status finish() {
    std::string self = "/proc/self/fd/" + std::to_string(fd_);
    if (unnamed_ && !inTemporaryName([&](const char *name) {
          return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
        }))
      return failure();
    if (::close(std::exchange(fd_, -1)) != 0)
      return failure();
    if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0)
      return failure();
    temporary_.clear();
    return {};
  }

private:
  // Has `make` make the file under a name that nobody has, beside the target so that it can take its place.
  template <typename Make> bool inTemporaryName(Make make) {
    static std::atomic<unsigned> number{0};
    for (int turn = 0; turn < 100; ++turn) {
      std::string name = target_ + ".part-" + std::to_string(getpid()) + "-" + std::to_string(number++);
      if (make(name.c_str())) {
        temporary_ = name;
        return true;
      }
      if (errno != EEXIST)
        break;
    }
    return false;
  }
  Failure failure() const {
    int code = errno;
    return {"cannot write tensors", path_, std::strerror(code),
            code == ENOSPC ? "free some space" : "check the path"};
  }
  std::string path_, target_, temporary_; // temporary_: the file's name until finish(), if it has one
  int fd_ = -1;
  bool unnamed_ = false;
};

// Length word and header, padded with blanks so that data begins on a multiple of 64 bytes, and to at least
// `leastBytes`.
std::string makeHeader(const nlohmann::ordered_json &json, size_t leastBytes) {
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  size_t whole = std::max((8 + text.size() + 63) / 64 * 64, leastBytes);
  text.resize(whole - 8, ' ');
  uint64_t length = text.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  return header + text;
}

void addEntry(nlohmann::ordered_json &json, const std::string &name, DType dtype,
              const std::vector<int64_t> &shape, uint64_t begin, uint64_t end) {
  nlohmann::ordered_json entry;
  entry["dtype"] = dtypeName(dtype);
  entry["shape"] = shape;
  entry["data_offsets"] = {begin, end};
  json[name] = std::move(entry);
}
} // namespace

Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors) {
  auto json = nlohmann::ordered_json::object();
  std::vector<size_t> sizes;
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    assert(!isQuantized(tensor.dtype) && "safetensors has no quantized types");
    size_t bytes = size_t(blockBytes(tensor.dtype));
    for (int64_t size : tensor.shape)
      bytes *= size_t(size);
    sizes.push_back(bytes);
    addEntry(json, tensor.name, tensor.dtype, tensor.shape, offset, offset + bytes);
    offset += bytes;
  }
  std::string header = makeHeader(json, 0);
  OutputFile file(path);
  if (Status status = file.open(); !status)
    return status;
  if (Status status = file.write(header.data(), header.size()); !status)
    return status;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Status status = file.write(tensors[i].data, sizes[i]); !status)
      return status;
  return file.finish();
}

struct SafetensorsRowWriter::State {
  explicit State(const std::string &path) : file(path) {}
  std::string header(size_t leastBytes) const {
    auto json = nlohmann::ordered_json::object();
    addEntry(json, name, DType::F32, {rows, columns}, 0, uint64_t(rows) * uint64_t(columns) * sizeof(float));
    return makeHeader(json, leastBytes);
  }
  OutputFile file;
  std::string name;
  int64_t columns = 0, rows = 0;
  size_t headerBytes = 0;
};

SafetensorsRowWriter::~SafetensorsRowWriter() = default;

Result<std::unique_ptr<SafetensorsRowWriter>>
SafetensorsRowWriter::create(const std::string &path, const std::string &tensorName, int64_t columns) {
  std::unique_ptr<SafetensorsRowWriter> writer(new SafetensorsRowWriter);
  writer->state_ = std::make_unique<State>(path);
  State &state = *writer->state_;
  state.name = tensorName;
  state.columns = columns;
  // Room for the longest header: the number of rows is known at the end only.
  state.rows = INT64_MAX / 4 / std::max<int64_t>(columns, 1);
  std::string header = state.header(0);
  state.headerBytes = header.size();
  state.rows = 0;
  if (Status status = state.file.open(); !status)
    return status.takeFailure();
  if (Status status = state.file.write(header.data(), header.size()); !status)
    return status.takeFailure();
  return writer;
}

Status SafetensorsRowWriter::append(const float *rows, int64_t count) {
  if (Status status = state_->file.write(rows, size_t(count) * size_t(state_->columns) * sizeof(float));
      !status)
    return status;
  state_->rows += count;
  return {};
}

Status SafetensorsRowWriter::finish() {
  std::string header = state_->header(state_->headerBytes);
  if (Status status = state_->file.rewind(); !status)
    return status;
  if (Status status = state_->file.write(header.data(), header.size()); !status)
    return status;
  return state_->file.finish();
}

} // namespace tessera::io
