#include "InputLines.h"

namespace tessera::runtime {

bool InputLines::next(std::string &line) {
  const bool isThere = read(line);
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  constexpr const char mark[] = "\xEF\xBB\xBF";
  if (isFirst_ && line.rfind(mark, 0) == 0)
    line.erase(0, sizeof mark - 1);
  isFirst_ = false;
  return isThere;
}

bool InputLines::read(std::string &line) {
  char piece[4096];
  for (line.clear(); line.size() <= most_;) {
    stream_.getline(piece, sizeof piece);
    const size_t taken = size_t(stream_.gcount());
    if (!stream_.fail() && !stream_.eof()) {
      line.append(piece, taken - 1); // the line's end is taken, and not kept
      return true;
    }
    line.append(piece, taken);
    if (stream_.eof() || stream_.bad())
      return !line.empty();
    stream_.clear(); // the piece was full
  }
  return true;
}

} // namespace tessera::runtime
