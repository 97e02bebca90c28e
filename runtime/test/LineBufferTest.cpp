// What keys do to a message, without a terminal.
#include "LineBuffer.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

TEST(LineBuffer, CharactersAreWhole) {
  LineBuffer b;
  b.insert("aß\u4e16");
  b.left();
  b.backspace();
  EXPECT_EQ(b.text(), "a\u4e16");
  EXPECT_EQ(b.cursor(), 1u);
  b.erase();
  EXPECT_EQ(b.text(), "a");
  b.erase();
  b.right();
  EXPECT_EQ(b.cursor(), 1u);
  b.backspace();
  b.backspace();
  EXPECT_EQ(b.text(), "");
}

TEST(LineBuffer, WordsAndLinesGo) {
  LineBuffer b;
  b.insert("one two  \nthree four");
  b.eraseWord();
  EXPECT_EQ(b.text(), "one two  \nthree ");
  b.eraseToStart();
  EXPECT_EQ(b.text(), "one two  \n");
  b.up();
  b.home();
  b.eraseToEnd();
  EXPECT_EQ(b.text(), "\n");
}

TEST(LineBuffer, ArrowsMoveInTheTextFirst) {
  LineBuffer b;
  b.insert("first");
  EXPECT_EQ(b.take(), "first");
  b.insert("abcd\nx\nefgh");
  b.up();
  EXPECT_EQ(b.cursor(), 6u); // the middle line is short
  b.up();
  EXPECT_EQ(b.cursor(), 1u);
  b.up();
  EXPECT_EQ(b.text(), "first");
  b.down();
  EXPECT_EQ(b.text(), "abcd\nx\nefgh"); // what was being written
  b.down();
  EXPECT_EQ(b.text(), "abcd\nx\nefgh");
}

TEST(LineBuffer, HistoryHasEachOnceInARow) {
  LineBuffer b;
  for (const char *text : {"a", "b", "b", ""}) {
    b.insert(text);
    b.take();
  }
  b.up();
  EXPECT_EQ(b.text(), "b");
  b.up();
  EXPECT_EQ(b.text(), "a");
  b.up();
  EXPECT_EQ(b.text(), "a");
  b.insert("!"); // an old one may be changed
  EXPECT_EQ(b.take(), "a!");
  b.up();
  EXPECT_EQ(b.text(), "a!");
}

TEST(LineBuffer, ColumnsOfCharacters) {
  auto columns = [](std::string_view text) {
    int sum = 0;
    for (size_t at = 0; at < text.size();)
      sum += columnsOf(text, at);
    return sum;
  };
  EXPECT_EQ(columns("abc"), 3);
  EXPECT_EQ(columns("\u00e9"), 1);
  EXPECT_EQ(columns("e\u0301"), 1);
  EXPECT_EQ(columns("\u4e16\u754c"), 4);
  EXPECT_EQ(columns("\U0001F600"), 2);
  EXPECT_EQ(columns("\xff\xc3"), 2);
}
