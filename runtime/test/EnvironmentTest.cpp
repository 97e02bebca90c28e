// Settings of the environment that are on or off.
#include "tessera/runtime/core/Environment.h"
#include "ErrorLine.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

constexpr const char *name = "TESSERA_TEST_SWITCH";

TEST(EnvironmentSwitch, IsZeroOrOne) {
  for (bool otherwise : {false, true}) {
    unsetenv(name);
    EXPECT_EQ(environmentSwitch(name, otherwise), otherwise);
    setenv(name, "", 1);
    EXPECT_EQ(environmentSwitch(name, otherwise), otherwise);
    setenv(name, "0", 1);
    EXPECT_FALSE(environmentSwitch(name, otherwise));
    setenv(name, "1", 1);
    EXPECT_TRUE(environmentSwitch(name, otherwise));
  }
}

TEST(EnvironmentSwitch, NamesTheVariableAndWhatItMayBe) {
  for (const char *text : {"no", "2", "01", "on", " 1"}) {
    setenv(name, text, 1);
    EXPECT_EQ(errorOf([] { environmentSwitch(name, true); }),
              std::string("cannot read a setting (TESSERA_TEST_SWITCH=") + text +
                  "): it is neither 0 nor 1; unset it for the default of 1");
  }
  unsetenv(name);
}

} // namespace
} // namespace tessera::runtime
