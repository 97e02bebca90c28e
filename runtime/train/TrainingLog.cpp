#include "tessera/runtime/train/TrainingLog.h"

#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/io/MappedFile.h"
#include "tessera/runtime/io/OutputFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::train {

namespace {
struct Field {
  const char *name;
  double LogLine::*value;
  bool always = false; // in every line: null where there is no number
};
constexpr Field fields[] = {{"loss", &LogLine::loss, true},
                            {"grad_norm", &LogLine::gradNorm, true},
                            {"lr", &LogLine::learningRate, true},
                            {"tokens_per_s", &LogLine::tokensPerSecond, true},
                            {"mfu", &LogLine::mfu},
                            {"memory_bytes", &LogLine::memoryBytes},
                            {"eval_loss", &LogLine::evalLoss},
                            {"loss_scale", &LogLine::lossScale}};

// False: `text` is no line of a log.
bool readLine(std::string_view text, LogLine &line) {
  Result<nlohmann::json> json = io::parseJson(text, "");
  if (!json || !json->is_object())
    return false;
  auto step = json->find("step");
  if (step == json->end() || !step->is_number_integer())
    return false;
  line = LogLine();
  line.step = step->get<int64_t>();
  for (const Field &field : fields)
    if (auto found = json->find(field.name); found != json->end() && found->is_number())
      line.*field.value = found->get<double>();
  return true;
}

// Calls onLine(line, begin) for whole lines until it returns false. Returns the number, from 1, of the first
// line that is none of a log; 0: there is none.
template <typename OnLine> int64_t eachLine(std::string_view text, OnLine onLine) {
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos)
      return 0; // half a line
    ++number;
    std::string_view words = text.substr(at, end - at);
    LogLine line;
    if (words.find_first_not_of(" \t\r") != std::string_view::npos) {
      if (!readLine(words, line))
        return number;
      if (!onLine(line, at))
        return 0;
    }
    at = end + 1;
  }
  return 0;
}
} // namespace

std::string logText(const LogLine &line) {
  nlohmann::ordered_json json;
  json["step"] = line.step;
  for (const Field &field : fields) {
    double value = line.*field.value;
    if (std::isfinite(value) && field.value == &LogLine::memoryBytes)
      json[field.name] = int64_t(value);
    else if (std::isfinite(value))
      json[field.name] = value;
    else if (field.always)
      json[field.name] = nullptr;
  }
  return json.dump() + "\n";
}

TrainingLog::~TrainingLog() {
  if (fd_ >= 0)
    ::close(fd_);
}
TrainingLog::TrainingLog(TrainingLog &&other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) {
  other.fd_ = -1;
}

static const char *const cannotWrite = "cannot write log";

// The bytes of the file's lines up to step `after`.
static Result<size_t> keptBytes(const std::string &path, int64_t after) {
  auto failed = [&](std::string why, std::string hint) {
    return Failure{cannotWrite, path, std::move(why), std::move(hint)};
  };
  Result<std::shared_ptr<io::MappedFile>> old = io::MappedFile::open(path);
  if (!old)
    return failed(old.failure().why,
                  old.failure().hint.empty() ? "name another file with --log=" : old.failure().hint);
  size_t keep = 0;
  std::string_view text = (*old)->text();
  int64_t bad = eachLine(text, [&](const LogLine &line, size_t begin) {
    if (line.step > after)
      return false;
    keep = text.find('\n', begin) + 1;
    return true;
  });
  if (bad || text.find('\n') == std::string_view::npos)
    return failed("line " + std::to_string(std::max<int64_t>(bad, 1)) + " of it is no line of a log",
                  "name another file with --log=");
  return keep;
}

Status TrainingLog::check(const std::string &path) {
  struct stat info;
  const bool isThere = stat(path.c_str(), &info) == 0;
  if (isThere && S_ISDIR(info.st_mode))
    return Failure{cannotWrite, path, std::strerror(EISDIR), "check the path"};
  if (isThere && !S_ISREG(info.st_mode))
    return {};
  io::OutputFile probe(path, cannotWrite);
  if (Status status = probe.open(); !status)
    return status;
  if (!isThere || info.st_size == 0)
    return {};
  Result<size_t> keep = keptBytes(path, 0);
  return keep ? Status() : Status(keep.takeFailure());
}

Result<TrainingLog> TrainingLog::open(const std::string &path, int64_t after) {
  auto failed = [&](std::string why, std::string hint) {
    return Failure{cannotWrite, path, std::move(why), std::move(hint)};
  };
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    return failed(std::strerror(errno), "check the path");
  TrainingLog log(path, fd);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
    return log;
  Result<size_t> keep = keptBytes(path, after);
  if (!keep)
    return keep.takeFailure();
  if (ftruncate(fd, off_t(*keep)) != 0)
    return failed(std::strerror(errno), "name another file with --log=");
  return log;
}

Status TrainingLog::write(const LogLine &line) {
  std::string text = logText(line);
  for (size_t at = 0; at < text.size();) {
    ssize_t written = ::write(fd_, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return Failure{"cannot write log", path_, std::strerror(errno),
                     errno == ENOSPC ? "free some space" : "check the path"};
    at += size_t(written);
  }
  return {};
}

Result<std::vector<LogLine>> readLog(const std::string &path) {
  auto failed = [&](std::string where, std::string why) {
    return Failure{"cannot read log", std::move(where), std::move(why),
                   "give a file that --log wrote: a JSON object with \"step\" in each line"};
  };
  Result<std::shared_ptr<io::MappedFile>> file = io::MappedFile::open(path);
  if (!file)
    return failed(path, file.failure().why);
  std::vector<LogLine> lines;
  int64_t bad = eachLine((*file)->text(), [&](const LogLine &line, size_t) {
    while (!lines.empty() && lines.back().step >= line.step)
      lines.pop_back();
    lines.push_back(line);
    return true;
  });
  if (bad)
    return failed(path + ", line " + std::to_string(bad), "it is no JSON object with \"step\"");
  if (lines.empty())
    return failed(path, "it has no line");
  return lines;
}

} // namespace tessera::train
