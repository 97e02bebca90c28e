// What the stand-in says, and the environment it reads.
#ifndef TESSERA_STANDIN_CUDA_REPORT_H
#define TESSERA_STANDIN_CUDA_REPORT_H

#include <cstdint>
#include <string>

namespace standin {

// One line `stand-in: TEXT` on stderr: a call that broke a rule, and fails as a real driver's would.
void complain(const std::string &text);

// The same, and the process ends with status 86: what a real driver would do wrongly without a word.
[[noreturn]] void violation(const std::string &text);
constexpr int kViolationStatus = 86;

// One line of TESSERA_STANDIN_TRACE: `PROCESS DEVICE TEXT`; nothing where the variable is not set.
bool tracing();
void trace(int device, const std::string &text);

// One line of TESSERA_STANDIN_LAUNCHES: image, entry, TESSERA_STANDIN_TEST.
void recordLaunch(const std::string &imageHash, const std::string &entry);

// TESSERA_STANDIN_*, read once. A value that is no number ends the process with a line.
struct Settings {
  uint64_t seed, gpus, arch, memory, multiprocessors;
  uint64_t dropWait; // the wait for an event, from 1, that is left out; 0: none
  bool races, order, leaks;
  std::string ir; // folder of bitcode by image hash
};
const Settings &settings();

// A function of its arguments that looks random.
uint64_t randomBits(uint64_t seed, uint64_t a, uint64_t b);

// Shared memory that a block of the devices may ask for, in bytes.
int sharedOptIn();

std::string hex(uint64_t address);
// "4 bytes"
std::string countOf(uint64_t n, const char *what);

} // namespace standin
#endif
