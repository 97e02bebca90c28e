// stdout and stderr of one rank: whole writes, errors told apart, progress where somebody watches.
#ifndef TESSERA_RUNTIME_APP_TERMINAL_H
#define TESSERA_RUNTIME_APP_TERMINAL_H

#include "tessera/runtime/core/Board.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

// Writes everything to standard output at once, unbuffered; throws Error if it cannot (a full disk). A reader
// that has closed its pipe wants no more: that is no error, and nothing is written from then on. While it
// waits for a slow reader the board says so.
class StandardOutput {
public:
  explicit StandardOutput(BoardEntry *entry = nullptr) : entry_(entry) {}
  void write(std::string_view text);
  // Ends a line that was begun.
  void freshLine();
  // Reports what the system held back: call before a successful end.
  void close();
  // Nobody reads what is written.
  bool isGone() const { return isGone_; }

private:
  BoardEntry *entry_;
  bool isGone_ = false;
  bool atLineStart_ = true;
};

// `stream` is a terminal that can draw a line afresh; one of TERM=dumb prints alone.
bool movesCursor(int stream);

// A line on standard error; never fails.
void logLine(const std::string &text);

// Progress of long work: a bar that is redrawn on a terminal, nothing in a file (the caller logs a line at
// the end).
class ProgressBar {
public:
  ProgressBar(std::string label, int64_t total);
  ~ProgressBar();           // wipes the bar
  void advance(int64_t by); // by any one thread at a time

private:
  void draw();
  std::string label_;
  int64_t total_, done_ = 0;
  int percent_ = -1;
  bool terminal_;
};

} // namespace tessera::runtime
#endif
