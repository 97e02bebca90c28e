#include "Report.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <unistd.h>

namespace standin {

static void writeLine(int file, const std::string &line) {
  const std::string text = line + "\n";
  for (size_t at = 0; at < text.size();) { // most often at once, so that lines of processes do not mix
    ssize_t n = write(file, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR)
      return;
    at += n > 0 ? size_t(n) : 0;
  }
}

void complain(const std::string &text) { writeLine(STDERR_FILENO, "stand-in: " + text); }

void violation(const std::string &text) {
  fflush(stdout);
  complain(text);
  _exit(kViolationStatus);
}

// The file that a variable names, opened to append; -1 without one.
static int openLog(const char *variable) {
  const char *path = getenv(variable);
  if (!path || !*path)
    return -1;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    violation(std::string("cannot write (") + variable + "=" + path + "): " + strerror(errno) +
              "; name a file that can be written");
  return file;
}

static int traceFile() {
  static const int file = openLog("TESSERA_STANDIN_TRACE");
  return file;
}

bool tracing() { return traceFile() >= 0; }

void trace(int device, const std::string &text) {
  if (tracing())
    writeLine(traceFile(), std::to_string(getpid()) + " " + std::to_string(device) + " " + text);
}

void recordLaunch(const std::string &imageHash, const std::string &entry) {
  static const int file = openLog("TESSERA_STANDIN_LAUNCHES");
  static std::set<std::string> seen; // one line for each kernel of a process
  if (file < 0)
    return;
  const char *test = getenv("TESSERA_STANDIN_TEST");
  std::string line = imageHash + " " + entry + " " + (test ? test : "-");
  if (seen.insert(line).second)
    writeLine(file, line);
}

static uint64_t number(const char *name, uint64_t otherwise, uint64_t least, uint64_t most) {
  const char *text = getenv(name);
  if (!text || !*text)
    return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text, text + strlen(text), value);
  if (*end || error != std::errc() || value < least || value > most)
    violation(std::string("cannot read a setting (") + name + "=" + text + "): it is no number from " +
              std::to_string(least) + " to " + std::to_string(most) + "; unset it for the default of " +
              std::to_string(otherwise));
  return value;
}

const Settings &settings() {
  static const Settings all = [] {
    Settings s;
    s.seed = number("TESSERA_STANDIN_SEED", 1, 0, UINT64_MAX);
    s.gpus = number("TESSERA_STANDIN_GPUS", 1, 0, 64);
    s.arch = number("TESSERA_STANDIN_ARCH", 90, 80, 129);
    s.memory = number("TESSERA_STANDIN_MEMORY", uint64_t(2) << 30, 1 << 20, uint64_t(1) << 40);
    s.multiprocessors = number("TESSERA_STANDIN_MULTIPROCESSORS", 8, 1, 256);
    s.dropWait = number("TESSERA_STANDIN_DROP_WAIT", 0, 0, UINT64_MAX);
    s.races = number("TESSERA_STANDIN_RACES", 0, 0, 1) != 0;
    s.order = number("TESSERA_STANDIN_ORDER", 1, 0, 1) != 0;
    s.leaks = number("TESSERA_STANDIN_LEAKS", 1, 0, 1) != 0;
    const char *ir = getenv("TESSERA_STANDIN_IR");
    s.ir = ir ? ir : "";
    return s;
  }();
  return all;
}

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t randomBits(uint64_t seed, uint64_t a, uint64_t b) {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15;
  return mix(mix(mix(seed + golden) ^ (a + golden)) + b * golden);
}

// Compute capability 8.0 and 8.7; 9.x and 10.x; the rest.
int sharedOptIn() {
  uint64_t arch = settings().arch;
  if (arch == 80 || arch == 87)
    return 163 * 1024;
  return arch / 10 == 9 || arch / 10 == 10 ? 227 * 1024 : 99 * 1024;
}

std::string hex(uint64_t address) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
  return text;
}

std::string countOf(uint64_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

} // namespace standin
