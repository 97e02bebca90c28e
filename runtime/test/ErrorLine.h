// What a test says of the one line of an error.
#ifndef TESSERA_RUNTIME_TEST_ERRORLINE_H
#define TESSERA_RUNTIME_TEST_ERRORLINE_H

#include "tessera/runtime/core/Error.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tessera::runtime {

// The message of the Error that `f` throws; empty: it throws none.
template <typename F> std::string errorOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

// `line` is one line that says all of `parts`.
inline void expectParts(const std::string &line, const std::vector<std::string> &parts) {
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  for (const std::string &part : parts)
    EXPECT_NE(line.find(part), std::string::npos) << line << "\nlacks " << part;
}

} // namespace tessera::runtime
#endif
