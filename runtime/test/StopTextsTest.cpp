// Where answers end at a text, in all ways in which tokens may cut it.
#include "StopTexts.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

// What is given of `text`, cut behind the bytes whose bits are set.
std::string given(const std::vector<std::string> &stops, const std::string &text, unsigned cuts,
                  bool &isMet) {
  StopTexts one(stops);
  std::string out, piece;
  for (size_t i = 0; i < text.size() && !one.isMet(); ++i) {
    piece += text[i];
    if (cuts >> i & 1 || i + 1 == text.size()) {
      out += one.push(piece);
      piece.clear();
    }
  }
  isMet = one.isMet();
  return out + one.flush();
}

} // namespace

TEST(StopTexts, CutInAnyWay) {
  struct Case {
    std::vector<std::string> stops;
    std::string text, wanted;
    bool isMet;
  };
  const Case cases[] = {{{"ab"}, "xaabz", "xa", true},
                        {{"aab"}, "aaaab", "aa", true},
                        {{"abc"}, "xababcd", "xab", true},
                        {{"ab"}, "aaaa", "aaaa", false},
                        {{"cd", "abc"}, "xabcd", "x", true},
                        {{"b", "abd"}, "abcd", "a", true},
                        {{"xyz"}, "axyaxy", "axyaxy", false},
                        {{}, "abc", "abc", false},
                        // Behind the first end of one it does not count what else the token has.
                        {{"bc", "abcd"}, "xabcde", "xa", true},
                        {{"c", "bc", "abcd"}, "xabcd", "xa", true}};
  for (const Case &one : cases)
    for (unsigned cuts = 0; cuts < 1u << one.text.size(); ++cuts) {
      bool isMet;
      EXPECT_EQ(given(one.stops, one.text, cuts, isMet), one.wanted) << one.text << " " << cuts;
      EXPECT_EQ(isMet, one.isMet) << one.text << " " << cuts;
    }
}

// Only what may begin a stop text waits.
TEST(StopTexts, TheRestComesAtOnce) {
  const std::vector<std::string> stops = {"</s>"};
  StopTexts one(stops);
  EXPECT_EQ(one.push("Hello <"), "Hello ");
  EXPECT_EQ(one.push("b"), "<b");
  EXPECT_EQ(one.push("</s"), "");
  EXPECT_EQ(one.flush(), "</s");
}
