#include "Targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::fuzz {

void expect(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void expectOneLine(const Failure &failure) {
  std::string message = failure.message();
  expect(!failure.what.empty() && !failure.why.empty(), "a failure says what and why");
  expect(message.size() < 4000, "a message is short");
  for (char c : message)
    expect(static_cast<unsigned char>(c) >= 0x20, "a message is one line of printable text");
}

MemoryFile::MemoryFile(std::string_view bytes, size_t zeros) : fd_(memfd_create("input", MFD_CLOEXEC)) {
  expect(fd_ >= 0, "there are files in memory");
  for (size_t at = 0; at < bytes.size();) {
    ssize_t written = ::write(fd_, bytes.data() + at, bytes.size() - at);
    expect(written > 0, "files in memory can be written");
    at += size_t(written);
  }
  expect(!zeros || ::ftruncate(fd_, off_t(bytes.size() + zeros)) == 0, "files in memory can have holes");
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

Folder::Folder() : path_((std::filesystem::temp_directory_path() / "tessera-fuzz-XXXXXX").string()) {
  expect(mkdtemp(path_.data()) != nullptr, "there is a folder for temporary files");
}

Folder::~Folder() {
  std::error_code none;
  std::filesystem::remove_all(path_, none);
}

void Folder::write(const std::string &name, std::string_view bytes, size_t zeros) const {
  std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  if (zeros)
    std::filesystem::resize_file(path, bytes.size() + zeros);
}

void Folder::remove(const std::string &name) const { std::filesystem::remove(path_ + "/" + name); }

Parts splitAtNul(std::string_view input) {
  size_t end = input.find('\0');
  if (end == std::string_view::npos)
    return {input, std::nullopt};
  return {input.substr(0, end), input.substr(end + 1)};
}

std::string safetensorsOf(std::string_view input) {
  size_t end = input.rfind('}');
  uint64_t length = end == std::string_view::npos ? input.size() : end + 1;
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(input);
}

std::vector<std::string> wordsOf(std::string_view input) {
  std::vector<std::string> words;
  for (size_t at = 0; at < input.size();) {
    size_t end = std::min(input.find('\n', at), input.size());
    words.push_back(std::string(input.substr(at, end - at)).c_str());
    at = end + 1;
  }
  return words;
}

} // namespace tessera::fuzz
