// The text that somebody edits, without a terminal: a cursor, a history, several lines.
#ifndef TESSERA_RUNTIME_APP_LINEBUFFER_H
#define TESSERA_RUNTIME_APP_LINEBUFFER_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// What keys do to the text. Cost: O(bytes of the text) each.
class LineBuffer {
public:
  const std::string &text() const { return text_; }
  size_t cursor() const { return cursor_; } // in bytes, never inside a character

  void insert(std::string_view text);
  void backspace();
  void erase(); // the character under the cursor
  void eraseWord();
  void eraseToStart(); // of the line
  void eraseToEnd();
  void left();
  void right();
  void home(); // of the line
  void end();
  // A line up or down; beyond the first and the last line another text of the history.
  void up();
  void down();
  void clear();
  // The text is done: it goes into the history (not twice in a row), and an empty one begins.
  std::string take();

private:
  size_t lineStart() const;
  size_t lineEnd() const;
  size_t before(size_t at) const; // where the character in front of `at` begins
  size_t behind(size_t at) const;
  void show(size_t entry);

  std::string text_;
  size_t cursor_ = 0;
  std::vector<std::string> history_;
  size_t shown_ = 0;  // entry of the history; its size: the text that is new
  std::string draft_; // that one, while an entry is shown
};

// Columns that a terminal gives the character at `at`, which is then behind it: 0 of what is written over the
// one before, 2 of wide ones. Bytes that are no UTF-8 are a column each.
int columnsOf(std::string_view text, size_t &at);

} // namespace tessera::runtime
#endif
