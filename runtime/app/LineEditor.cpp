#include "LineEditor.h"
#include "tessera/runtime/jinja/Characters.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace tessera::runtime {

//===- The terminal, as long as a message is read -===//

namespace {

termios before; // what the terminal was
volatile std::sig_atomic_t isRaw = 0;
const int endings[] = {SIGTERM, SIGHUP, SIGQUIT, SIGINT};

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR)
      return; // the next read says that the terminal is gone
    text.remove_prefix(n < 0 ? 0 : size_t(n));
  }
}

// Handlers of signals call this, too.
void restore() {
  if (!isRaw)
    return;
  put("\x1b[?2004l");
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
  isRaw = 0;
}

using Handler = void (*)(int);
Handler handlersBefore[std::size(endings)] = {};

// A run that is ended leaves a terminal that shows what is typed.
void onEnding(int signal) {
  restore();
  for (size_t i = 0; i < std::size(endings); ++i)
    if (endings[i] == signal && handlersBefore[i] && handlersBefore[i] != SIG_DFL &&
        handlersBefore[i] != SIG_IGN && handlersBefore[i] != SIG_ERR)
      return handlersBefore[i](signal);
  (void)!::write(STDOUT_FILENO, "\n", 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

class RawTerminal {
public:
  RawTerminal() {
    if (tcgetattr(STDIN_FILENO, &before) != 0)
      return;
    for (size_t i = 0; i < std::size(endings); ++i)
      if ((handlersBefore[i] = std::signal(endings[i], onEnding)) == SIG_IGN) // nohup, for one
        std::signal(endings[i], SIG_IGN);
    termios raw = before;
    raw.c_iflag &= ~tcflag_t(ICRNL | IXON | ISTRIP | INLCR | IGNCR);
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    isRaw = 1;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    isSet_ = true;
    static const bool atEnd = std::atexit(restore) == 0;
    (void)atEnd;
    put("\x1b[?2004h"); // what is pasted comes between marks
  }
  ~RawTerminal() {
    if (!isSet_)
      return;
    restore();
    for (size_t i = 0; i < std::size(endings); ++i)
      std::signal(endings[i], handlersBefore[i]);
  }

private:
  bool isSet_ = false; // not where the terminal is gone
};

size_t columns() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 3 ? size.ws_col : 80;
}

} // namespace

//===- Keys -===//

bool LineEditor::readByte(char &byte) {
  if (unread_) {
    byte = *unread_;
    unread_.reset();
    return true;
  }
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n == 1)
      return true;
    if (n == 0 || errno != EINTR)
      return false;
  }
}

bool LineEditor::isWaiting() const {
  pollfd ready = {STDIN_FILENO, POLLIN, 0};
  return poll(&ready, 1, 30) > 0;
}

// ESC [ 3 ~, ESC [ A, ESC O H, ...
LineEditor::Key LineEditor::readEscape() {
  char byte;
  if (!isWaiting() || !readByte(byte))
    return Key::None;
  if (byte == '\r' || byte == '\n')
    return Key::NewLine;
  if (byte != '[' && byte != 'O')
    return Key::None;
  std::string number;
  while (readByte(byte) && (std::isdigit((unsigned char)byte) || byte == ';') && number.size() < 16)
    number += byte;
  switch (byte) {
  case 'A':
    return Key::Up;
  case 'B':
    return Key::Down;
  case 'C':
    return Key::Right;
  case 'D':
    return Key::Left;
  case 'H':
    return Key::Home;
  case 'F':
    return Key::End;
  case '~':
    break;
  default:
    return Key::None;
  }
  if (number == "3")
    return Key::Delete;
  if (number == "1" || number == "7")
    return Key::Home;
  if (number == "4" || number == "8")
    return Key::End;
  return number == "200" ? Key::Paste : Key::None;
}

// The other bytes of a character that begins with `byte`. A byte that is none of one, as a terminal of
// another encoding sends, shows as U+FFFD, and the key behind it is a key of its own.
void LineEditor::readCharacter(char byte) {
  typed_.assign(1, byte);
  const auto first = (unsigned char)byte;
  const size_t size = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  while (typed_.size() < size && first >= 0xC2 && first <= 0xF4 && readByte(byte)) {
    if (((unsigned char)byte & 0xC0) != 0x80) {
      unread_ = byte;
      break;
    }
    typed_ += byte;
  }
  if (!jinja::isValidUtf8(typed_))
    typed_ = "\xEF\xBF\xBD";
}

LineEditor::Key LineEditor::readKey() {
  char byte;
  if (!readByte(byte))
    return Key::Closed;
  switch (byte) {
  case '\r':
    return Key::Enter;
  case '\n': // Ctrl-J, and Shift-Enter of many terminals
    return Key::NewLine;
  case 1:
    return Key::Home;
  case 2:
    return Key::Left;
  case 3:
    return Key::Cancel;
  case 4:
    return buffer_.text().empty() ? Key::Leave : Key::Delete;
  case 5:
    return Key::End;
  case 6:
    return Key::Right;
  case 8:
  case 127:
    return Key::Backspace;
  case 11:
    return Key::EraseToEnd;
  case 12:
    return Key::Redraw;
  case 14:
    return Key::Down;
  case 16:
    return Key::Up;
  case 21:
    return Key::EraseToStart;
  case 23:
    return Key::EraseWord;
  case 27:
    return readEscape();
  default:
    break;
  }
  if (byte == '\t')
    byte = ' ';
  if ((unsigned char)byte < 32)
    return Key::None;
  readCharacter(byte);
  return Key::Text;
}

// Until ESC [ 201 ~.
void LineEditor::readPaste() {
  static const std::string mark = "\x1b[201~";
  std::string text;
  char byte;
  while (readByte(byte)) {
    text += byte == '\r' ? '\n' : byte;
    if (text.size() >= mark.size() && text.compare(text.size() - mark.size(), mark.size(), mark) == 0) {
      text.resize(text.size() - mark.size());
      break;
    }
  }
  buffer_.insert(text);
}

//===- Editing -===//

bool LineEditor::apply(Key key) {
  switch (key) {
  case Key::Text:
    buffer_.insert(typed_);
    break;
  case Key::Enter:
    if (buffer_.cursor() == buffer_.text().size() && !buffer_.text().empty() &&
        buffer_.text().back() == '\\') {
      buffer_.backspace();
      buffer_.insert("\n");
      break;
    }
    return false;
  case Key::NewLine:
    buffer_.insert("\n");
    break;
  case Key::Paste:
    readPaste();
    break;
  case Key::Backspace:
    buffer_.backspace();
    break;
  case Key::Delete:
    buffer_.erase();
    break;
  case Key::Left:
    buffer_.left();
    break;
  case Key::Right:
    buffer_.right();
    break;
  case Key::Up:
    buffer_.up();
    break;
  case Key::Down:
    buffer_.down();
    break;
  case Key::Home:
    buffer_.home();
    break;
  case Key::End:
    buffer_.end();
    break;
  case Key::EraseWord:
    buffer_.eraseWord();
    break;
  case Key::EraseToStart:
    buffer_.eraseToStart();
    break;
  case Key::EraseToEnd:
    buffer_.eraseToEnd();
    break;
  case Key::Redraw:
    put("\x1b[H\x1b[2J");
    cursorRow_ = 0;
    break;
  default:
    break;
  }
  return true;
}

// Everything again, over what stands there: messages are short.
void LineEditor::draw(const std::string &prompt) {
  const size_t width = columns();
  std::string out = cursorRow_ ? "\x1b[" + std::to_string(cursorRow_) + "A" : "";
  out += "\r\x1b[J" + prompt;
  size_t row = 0, column = prompt.size(), cursorColumn = column;
  cursorRow_ = 0;
  const std::string &text = buffer_.text();
  for (size_t at = 0;;) {
    if (at == buffer_.cursor()) {
      cursorRow_ = row;
      cursorColumn = column;
    }
    if (at >= text.size())
      break;
    if (text[at] == '\n') {
      out += "\r\n" + std::string(prompt.size(), ' ');
      ++row;
      column = prompt.size();
      ++at;
      continue;
    }
    const size_t begin = at;
    const auto wide = size_t(columnsOf(text, at));
    if (column + wide > width) {
      out += "\r\n";
      ++row;
      column = 0;
      if (begin == buffer_.cursor()) {
        cursorRow_ = row;
        cursorColumn = 0;
      }
    }
    out.append(text, begin, at - begin);
    column += wide;
  }
  if (column == width) { // the cursor would stand on the last character
    out += "\r\n";
    if (buffer_.cursor() == text.size()) {
      cursorRow_ = row + 1;
      cursorColumn = 0;
    }
    ++row;
  }
  lastRow_ = row;
  if (row > cursorRow_)
    out += "\x1b[" + std::to_string(row - cursorRow_) + "A";
  out += "\r";
  if (cursorColumn)
    out += "\x1b[" + std::to_string(cursorColumn) + "C";
  put(out);
}

// What comes next stands below the message.
void LineEditor::leaveLines() {
  std::string out;
  if (lastRow_ > cursorRow_)
    out = "\x1b[" + std::to_string(lastRow_ - cursorRow_) + "B";
  put(out + "\r\n");
  cursorRow_ = lastRow_ = 0;
}

std::optional<std::string> LineEditor::read(const std::string &prompt) {
  RawTerminal raw;
  buffer_.clear();
  cursorRow_ = lastRow_ = 0;
  for (;;) {
    draw(prompt);
    const Key key = readKey();
    if (key == Key::Leave || key == Key::Closed) {
      leaveLines();
      return std::nullopt;
    }
    if (key == Key::Cancel) {
      put("^C");
      leaveLines();
      buffer_.clear();
      continue;
    }
    if (apply(key))
      continue;
    leaveLines();
    return buffer_.take();
  }
}

} // namespace tessera::runtime
