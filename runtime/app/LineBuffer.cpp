#include "LineBuffer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tessera::runtime {

static bool continues(char byte) { return (byte & 0xC0) == 0x80; }

size_t LineBuffer::before(size_t at) const {
  while (at > 0 && continues(text_[--at]))
    ;
  return at;
}

size_t LineBuffer::behind(size_t at) const {
  if (at < text_.size())
    ++at;
  while (at < text_.size() && continues(text_[at]))
    ++at;
  return at;
}

size_t LineBuffer::lineStart() const {
  const size_t found = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return found == std::string::npos ? 0 : found + 1;
}

size_t LineBuffer::lineEnd() const { return std::min(text_.find('\n', cursor_), text_.size()); }

void LineBuffer::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineBuffer::backspace() {
  const size_t from = before(cursor_);
  text_.erase(from, cursor_ - from);
  cursor_ = from;
}

void LineBuffer::erase() { text_.erase(cursor_, behind(cursor_) - cursor_); }

void LineBuffer::eraseWord() {
  size_t from = cursor_;
  while (from > 0 && text_[from - 1] == ' ')
    --from;
  while (from > 0 && text_[from - 1] != ' ' && text_[from - 1] != '\n')
    --from;
  text_.erase(from, cursor_ - from);
  cursor_ = from;
}

void LineBuffer::eraseToStart() {
  const size_t from = lineStart();
  text_.erase(from, cursor_ - from);
  cursor_ = from;
}

void LineBuffer::eraseToEnd() { text_.erase(cursor_, lineEnd() - cursor_); }

void LineBuffer::left() { cursor_ = before(cursor_); }
void LineBuffer::right() { cursor_ = behind(cursor_); }
void LineBuffer::home() { cursor_ = lineStart(); }
void LineBuffer::end() { cursor_ = lineEnd(); }

void LineBuffer::show(size_t entry) {
  if (shown_ == history_.size())
    draft_ = text_;
  shown_ = entry;
  text_ = entry == history_.size() ? draft_ : history_[entry];
  cursor_ = text_.size();
}

void LineBuffer::up() {
  const size_t start = lineStart(), at = cursor_ - start;
  if (start == 0) {
    if (shown_ > 0)
      show(shown_ - 1);
    return;
  }
  cursor_ = start - 1;
  cursor_ = std::min(lineStart() + at, start - 1);
  while (cursor_ > 0 && cursor_ < text_.size() && continues(text_[cursor_]))
    --cursor_;
}

void LineBuffer::down() {
  const size_t next = lineEnd(), at = cursor_ - lineStart();
  if (next == text_.size()) {
    if (shown_ < history_.size())
      show(shown_ + 1);
    return;
  }
  cursor_ = next + 1;
  cursor_ = std::min(next + 1 + at, lineEnd());
  while (cursor_ < text_.size() && continues(text_[cursor_]))
    --cursor_;
}

void LineBuffer::clear() {
  text_.clear();
  cursor_ = 0;
  shown_ = history_.size();
}

std::string LineBuffer::take() {
  if (!text_.empty() && (history_.empty() || history_.back() != text_))
    history_.push_back(text_);
  std::string text = std::exchange(text_, {});
  clear();
  return text;
}

int columnsOf(std::string_view text, size_t &at) {
  const auto first = uint8_t(text[at++]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  uint32_t point = more ? first & (0x3F >> more) : first;
  for (int i = 0; i < more && at < text.size() && continues(text[at]); ++i)
    point = point << 6 | (uint8_t(text[at++]) & 0x3F);
  // Blocks of Unicode, first and last.
  constexpr uint32_t none[][2] = {{0x300, 0x36F},   {0x1AB0, 0x1AFF}, {0x200B, 0x200F},
                                  {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
  constexpr uint32_t two[][2] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                 {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                 {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                                 {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  auto isIn = [&](const auto &blocks) {
    return std::any_of(std::begin(blocks), std::end(blocks),
                       [&](const uint32_t (&block)[2]) { return point >= block[0] && point <= block[1]; });
  };
  return isIn(none) ? 0 : isIn(two) ? 2 : 1;
}

} // namespace tessera::runtime
