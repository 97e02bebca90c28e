// Messages that somebody types in a terminal: a small editor of lines over termios. Why not a library:
// docs/Chat.md.
#ifndef TESSERA_RUNTIME_APP_LINEEDITOR_H
#define TESSERA_RUNTIME_APP_LINEEDITOR_H

#include "LineBuffer.h"

#include <optional>
#include <string>

namespace tessera::runtime {

// Arrows, Home, End, Ctrl-A E B F P N K U W L, the history of this run. Enter ends a message; Alt-Enter,
// Ctrl-J, and Enter behind a backslash begin another line of it; what is pasted keeps its lines. The terminal
// takes keys one by one only while a message is read.
class LineEditor {
public:
  // The next message; none where the input ends (Ctrl-D in an empty line). Ctrl-C drops what was typed.
  std::optional<std::string> read(const std::string &prompt);

private:
  enum class Key {
    None,
    Text,
    Enter,
    NewLine,
    Paste,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    Redraw,
    Cancel,
    Leave,
    Closed
  };
  Key readKey();
  Key readEscape();
  void readCharacter(char byte);
  void readPaste();
  bool readByte(char &byte);
  bool isWaiting() const; // a key that was pressed, or more of it
  bool apply(Key key);    // false: the message is done
  void draw(const std::string &prompt);
  void leaveLines();

  LineBuffer buffer_;
  std::string typed_;          // of Key::Text
  std::optional<char> unread_; // a byte that was read and belongs to the next key
  size_t cursorRow_ = 0;       // of what was drawn
  size_t lastRow_ = 0;
};

} // namespace tessera::runtime
#endif
