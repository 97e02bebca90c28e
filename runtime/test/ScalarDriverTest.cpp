// A driver reads the section of its target, and nobody else does.
#include "ScalarDriver.h"
#include "tessera/runtime/core/Error.h"

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

Manifest withSection(const char *section) {
  Manifest manifest;
  manifest.target = "scalar";
  manifest.section = section;
  return manifest;
}

TEST(Sections, AreTheirDriversToRead) {
  Manifest manifest = withSection(R"({"tile": 64})");
  scalarDriver().checkMachine(manifest);
  EXPECT_EQ(scalarDriver().compiledFor(manifest), "tiles of 64");
  for (const char *bad :
       {"", "{}", R"({"tile": 0})", R"({"tile": "64"})", R"({"tile": 64, "lanes": 2})", "[64]"})
    EXPECT_THROW(scalarDriver().checkMachine(withSection(bad)), Error) << bad;
}

} // namespace
} // namespace tessera::runtime
