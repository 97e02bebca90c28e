// Values of flags, read from text. Each throws Error, naming the flag, on what it cannot take.
#ifndef TESSERA_RUNTIME_APP_FLAGVALUES_H
#define TESSERA_RUNTIME_APP_FLAGVALUES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

constexpr int64_t maxCount = int64_t(1) << 40;

[[noreturn]] void badValue(const std::string &flag, const std::string &value, const std::string &why,
                           const std::string &hint);
int64_t readInteger(const std::string &flag, const std::string &value, int64_t least, int64_t most);
/// What stands behind `before`, with which `value` begins.
uint64_t readSeed(const std::string &flag, const std::string &value, const std::string &before = "");
double readNumber(const std::string &flag, const std::string &value, const std::string &hint);    // finite
std::string readText(const std::string &flag, const std::string &value, const std::string &hint); // not empty
std::vector<int32_t> readTokens(const std::string &flag, const std::string &value);

} // namespace tessera::runtime
#endif
