#include "FlagValues.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tessera::runtime {

void badValue(const std::string &flag, const std::string &value, const std::string &why,
              const std::string &hint) {
  throw Error("cannot read the command line", flag + "=" + value, why, hint);
}

int64_t readInteger(const std::string &flag, const std::string &value, int64_t least, int64_t most) {
  errno = 0;
  char *end = nullptr;
  long long number = strtoll(value.c_str(), &end, 10);
  bool digits = !value.empty() && (isdigit((unsigned char)value[0]) || (value[0] == '-' && value.size() > 1));
  if (!digits || *end)
    badValue(flag, value, "it is no integer", "write " + flag + "=N");
  if (errno || number < least || number > most)
    badValue(flag, value, "it is out of range",
             "use a number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

uint64_t readSeed(const std::string &flag, const std::string &value, const std::string &before) {
  const std::string digits = value.substr(std::min(before.size(), value.size()));
  errno = 0;
  char *end = nullptr;
  unsigned long long number = strtoull(digits.c_str(), &end, 10);
  if (digits.empty() || !isdigit((unsigned char)digits[0]) || *end || errno)
    badValue(flag, value, digits == value ? "it is no seed" : "\"" + digits + "\" is no seed",
             "use an integer from 0 to 18446744073709551615" + (before.empty() ? "" : " behind " + before));
  return number;
}

double readNumber(const std::string &flag, const std::string &value, const std::string &hint) {
  char *end = nullptr;
  double number = strtod(value.c_str(), &end);
  if (value.empty() || *end || !std::isfinite(number))
    badValue(flag, value, "it is no number", hint);
  return number;
}

std::string readText(const std::string &flag, const std::string &value, const std::string &hint) {
  if (value.empty())
    badValue(flag, value, "it is empty", hint);
  return value;
}

std::vector<int32_t> readTokens(const std::string &flag, const std::string &value) {
  std::vector<int32_t> tokens;
  for (size_t at = 0; at <= value.size();) {
    size_t comma = std::min(value.find(',', at), value.size());
    std::string item = value.substr(at, comma - at);
    char *end = nullptr;
    errno = 0;
    long long id = strtoll(item.c_str(), &end, 10);
    if (item.empty() || !(isdigit((unsigned char)item[0]) || item[0] == '-') || *end || errno ||
        id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max())
      badValue(flag, value.size() > 60 ? value.substr(0, 60) + "..." : value,
               "\"" + item + "\" is no token id", "write --tokens=1,2,3");
    tokens.push_back(int32_t(id));
    at = comma + 1;
  }
  return tokens;
}

} // namespace tessera::runtime
