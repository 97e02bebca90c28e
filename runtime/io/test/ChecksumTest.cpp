// XXH64: values that xxHash's own program prints, of every way through the function.
#include "tessera/runtime/io/Checksum.h"

#include <gtest/gtest.h>

using namespace tessera::io;

namespace {

TEST(Checksum, IsXxh64) {
  EXPECT_EQ(hexText(checksum("")), "ef46db3751d8e999");
  EXPECT_EQ(hexText(checksum("a")), "d24ec4f1a98c6e5b");
  EXPECT_EQ(hexText(checksum("abc")), "44bc2cf5ad770999");
  EXPECT_EQ(hexText(checksum("Nobody inspects the spammish repetition")), "fbcea83c8a378bf1");
}

TEST(Checksum, EveryByteOfEveryLengthCounts) {
  for (size_t length : {1, 3, 4, 7, 8, 12, 31, 32, 33, 64, 77}) {
    std::string text(length, 'x');
    uint64_t whole = checksum(text);
    for (char &byte : text) {
      byte ^= 4;
      EXPECT_NE(checksum(text), whole) << length;
      byte ^= 4;
    }
    EXPECT_NE(checksum(text + "x"), whole);
  }
}

TEST(Checksum, HexadecimalTextIsReadBack) {
  uint64_t value = 0;
  EXPECT_TRUE(readHexText(hexText(0x0123456789abcdefu), value));
  EXPECT_EQ(value, 0x0123456789abcdefu);
  EXPECT_FALSE(readHexText("0123456789abcde", value));
  EXPECT_FALSE(readHexText("0123456789abcdeG", value));
}

} // namespace
