#include "tessera/runtime/Result.h"

#include <gtest/gtest.h>

using tessera::Failure;

TEST(Failure, IsOneLineWithItsFourParts) {
  EXPECT_EQ((Failure{"cannot read model", "/m", "too short", "fetch it"}.message()),
            "cannot read model (/m): too short; fetch it");
  EXPECT_EQ((Failure{"cannot read model", "", "too short", ""}.message()), "cannot read model: too short");
}

TEST(Failure, NamesFromDamagedFilesStayOnOneLineOfPrintableText) {
  EXPECT_EQ((Failure{"a", "x\ny\x1b[31m", "\xff\xC3\xA9", ""}.message()),
            "a (x\\x0Ay\\x1B[31m): \\xFF\xC3\xA9");
  EXPECT_EQ((Failure{"a", "", "\xE2\x80\xA8", ""}.message()), "a: \\xE2\\x80\\xA8"); // U+2028 breaks lines
  EXPECT_LT((Failure{"a", std::string(1000000, 'n'), "b", ""}.message().size()), 1000u);
}
