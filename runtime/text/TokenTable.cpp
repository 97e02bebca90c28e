#include "TokenTable.h"

#include <algorithm>

namespace tessera::text {

void TokenTable::grow(size_t slots) {
  slots_.assign(slots, Slot{0, 0});
  for (size_t i = 0; i < entries_.size(); ++i) {
    uint64_t hash = TextHash(textOf(entries_[i])).value();
    size_t at = hash & (slots - 1);
    while (slots_[at].entry)
      at = (at + 1) & (slots - 1);
    slots_[at] = {uint32_t(hash >> 32), uint32_t(i + 1)};
  }
}

void TokenTable::reserve(size_t count) {
  size_t slots = 16;
  while (slots < count + count / 2)
    slots *= 2;
  if (slots > slots_.size())
    grow(slots);
  entries_.reserve(count);
  texts_.reserve(count * 7);
}

bool TokenTable::add(std::string_view text, int32_t id) {
  if (slots_.size() < entries_.size() + entries_.size() / 2 + 2)
    grow(std::max<size_t>(16, slots_.size() * 2));
  uint64_t hash = TextHash(text).value();
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].entry; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == uint32_t(hash >> 32) && textOf(entries_[slots_[at].entry - 1]) == text)
      return false;
  entries_.push_back({texts_.size(), uint32_t(text.size()), id});
  texts_.append(text);
  longest_ = std::max(longest_, text.size());
  slots_[at] = {uint32_t(hash >> 32), uint32_t(entries_.size())};
  return true;
}

int32_t TokenTable::find(std::string_view text, uint64_t hash) const {
  if (slots_.empty())
    return -1;
  for (size_t at = hash & (slots_.size() - 1); slots_[at].entry; at = (at + 1) & (slots_.size() - 1)) {
    const Entry &entry = entries_[slots_[at].entry - 1];
    if (slots_[at].hash == uint32_t(hash >> 32) && textOf(entry) == text)
      return entry.id;
  }
  return -1;
}

int32_t TokenTable::findJoined(std::string_view left, std::string_view right) const {
  if (slots_.empty())
    return -1;
  TextHash joined(left);
  joined.add(right);
  uint64_t hash = joined.value();
  for (size_t at = hash & (slots_.size() - 1); slots_[at].entry; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash != uint32_t(hash >> 32))
      continue;
    const Entry &entry = entries_[slots_[at].entry - 1];
    std::string_view text = textOf(entry);
    if (text.size() == left.size() + right.size() && text.substr(0, left.size()) == left &&
        text.substr(left.size()) == right)
      return entry.id;
  }
  return -1;
}

void TextsById::set(int32_t id, std::string_view text) {
  if (size_t(id) >= places_.size())
    places_.resize(size_t(id) + 1);
  places_[size_t(id)] = {texts_.size(), text.size()};
  texts_.append(text);
}

} // namespace tessera::text
