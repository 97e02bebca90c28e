#include "TuningFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

static std::string folder() {
  auto environment = [](const char *name) -> std::string {
    const char *value = getenv(name);
    return value ? value : "";
  };
  if (getenv("TESSERA_TUNING"))
    return environment("TESSERA_TUNING");
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty() && !environment("HOME").empty())
    cache = environment("HOME") + "/.cache";
  return cache.empty() ? "" : cache + "/tessera";
}

TuningFile::TuningFile(const std::string &subject, const std::string &machine, IsValue isValue, Remark remark)
    : subject_(subject), isValue_(std::move(isValue)), remark_(std::move(remark)),
      title_("tessera " + subject + " 1, " + machine) {
  std::string in = folder();
  if (in.empty())
    return;
  std::string name = machine;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '.')
      c = '-';
  path_ = in + "/" + subject + "-" + name + ".txt";
  known_ = read(remark_);
}

// The first line is the title; each other is a choice.
TuningFile::Table TuningFile::read(const Remark &remark) const {
  auto tell = [&](const std::string &why) {
    if (remark)
      remark("cannot read the choices of " + subject_ + " (" + path_ + "): " + why +
             "; they are measured again");
  };
  errno = 0;
  std::ifstream file(path_);
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR) // there is none yet
      tell(strerror(errno));
    return {};
  }
  Table table;
  std::string line;
  if (!std::getline(file, line)) {
    tell(file.bad() ? strerror(errno) : "the file is empty");
    return {};
  }
  if (line != title_) {
    tell("its first line is not \"" + title_ + "\"");
    return {};
  }
  for (int number = 2; std::getline(file, line); ++number) {
    size_t at = line.find(" = ");
    if (at == std::string::npos || !isValue_(line.substr(at + 3))) {
      tell("line " + std::to_string(number) + " is damaged");
      return {};
    }
    table.emplace(line.substr(0, at), line.substr(at + 3));
  }
  return table;
}

std::optional<std::string> TuningFile::find(const std::string &key) const {
  auto at = known_.find(key);
  return at == known_.end() ? std::nullopt : std::optional(at->second);
}

void TuningFile::add(const std::string &key, const std::string &value) { known_[key] = added_[key] = value; }

void TuningFile::save() {
  if (path_.empty() || added_.empty())
    return;
  for (size_t at = path_.find('/', 1); at != std::string::npos; at = path_.find('/', at + 1))
    mkdir(path_.substr(0, at).c_str(), 0777); // most are there
  Table all = read(nullptr);                  // what is wrong there was said at the start
  for (const auto &[key, value] : added_)
    all[key] = value;
  std::string scratch = path_ + "." + std::to_string(getpid());
  if (!write(all, scratch) || rename(scratch.c_str(), path_.c_str()) != 0) {
    if (remark_)
      remark_("cannot keep the choices of " + subject_ + " (" + path_ + "): " + strerror(errno) +
              "; every start measures them again: name another folder with TESSERA_TUNING");
    unlink(scratch.c_str());
  }
  added_.clear();
}

bool TuningFile::write(const Table &all, const std::string &path) const {
  errno = 0;
  std::ofstream file(path);
  file << title_ << "\n";
  for (const auto &[key, value] : all)
    file << key << " = " << value << "\n";
  return bool(file.flush());
}

} // namespace tessera::runtime
