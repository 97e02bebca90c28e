#include "Regex.h"

#include <gtest/gtest.h>
#include <vector>

using namespace tessera;
using namespace tessera::text;

static std::vector<std::string> matches(const std::string &pattern, const std::string &text) {
  auto regex = Regex::compile(pattern, "test");
  EXPECT_TRUE(regex) << regex.failure().message();
  std::vector<std::string> found;
  Status status = (*regex)->forEachMatch(
      text, [&](size_t begin, size_t end) { found.push_back(text.substr(begin, end - begin)); });
  EXPECT_TRUE(status) << status.failure().message();
  return found;
}

using Strings = std::vector<std::string>;

TEST(Regex, ClassesAreUnicodes) {
  EXPECT_EQ(matches(R"(\p{L}+)", "a\xC3\xA9 \xE4\xB8\xAD!"), (Strings{"a\xC3\xA9", "\xE4\xB8\xAD"}));
  EXPECT_EQ(matches(R"(\s+)", "a\xC2\xA0\xE3\x80\x80"
                              "b\xC2\x85"),
            (Strings{"\xC2\xA0\xE3\x80\x80", "\xC2\x85"}));
  EXPECT_EQ(matches(R"([^\s]+)", "a\xE1\xA0\x8E"
                                 "b"),
            (Strings{"a\xE1\xA0\x8E"
                     "b"})); // U+180E is no white space
  EXPECT_EQ(matches(R"(\S+)", "a\xE1\xA0\x8E"
                              "b"),
            (Strings{"a\xE1\xA0\x8E"
                     "b"}));
  EXPECT_EQ(matches(R"((?i:'s))", "'S's"), (Strings{"'S", "'s"}));
}

TEST(Regex, EmptyMatchesAreSkippedWithoutAnEndlessLoop) {
  EXPECT_EQ(matches("x*", "a\xC3\xA9xxb"), (Strings{"xx"}));
  EXPECT_EQ(matches("(?=b)", "ab"), Strings{});
}

TEST(Regex, QuotedTextMatchesItself) {
  const std::string odd = ".*[a](b)\\E|^$ \xC3\xA9\n#-";
  EXPECT_EQ(matches(Regex::quoted(odd), "x" + odd + "y"), (Strings{odd}));
}

TEST(Regex, WhatPcreWouldReadDifferentlyIsRefused) {
  for (const char *pattern : {R"(\h)", R"([a&&b])", R"([[:alpha:]])", R"(\b)", R"(\X)"}) {
    auto regex = Regex::compile(pattern, "test");
    ASSERT_FALSE(regex) << pattern;
    EXPECT_NE(regex.failure().message().find("is not implemented"), std::string::npos);
  }
  auto bad = Regex::compile("(", "test");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.failure().message().find("bad split pattern (: missing closing parenthesis"),
            std::string::npos);
}

TEST(Regex, APatternThatExplodesEndsWithAFailure) {
  auto regex = Regex::compile(R"(((a|a)*)*c)", "test");
  ASSERT_TRUE(regex);
  Status status = (*regex)->forEachMatch(std::string(40, 'a') + "bc", [](size_t, size_t) {});
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("match limit exceeded"), std::string::npos)
      << status.failure().message();
}
