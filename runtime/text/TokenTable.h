// A vocabulary: the id of a text, and the text of an id.
#ifndef TESSERA_RUNTIME_TEXT_TOKENTABLE_H
#define TESSERA_RUNTIME_TEXT_TOKENTABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

// The hash of a text that may grow byte by byte.
class TextHash {
public:
  TextHash() = default;
  explicit TextHash(std::string_view text) { add(text); }
  void add(std::string_view text) {
    for (char c : text)
      value_ = (value_ ^ static_cast<uint8_t>(c)) * 0x9E3779B97F4A7C15u, value_ ^= value_ >> 29;
  }
  uint64_t value() const { return value_; }

private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

// Texts in one block of memory, and an open table of where they are: vocabularies of 150,000 tokens are read
// in milliseconds.
class TokenTable {
public:
  void reserve(size_t count);
  // False if `text` is there already.
  bool add(std::string_view text, int32_t id);
  int32_t find(std::string_view text) const { return find(text, TextHash(text).value()); }
  int32_t find(std::string_view text, uint64_t hash) const; // `hash` of `text`; -1 if it is not there
  int32_t findJoined(std::string_view left, std::string_view right) const; // of both, one after the other
  size_t size() const { return entries_.size(); }
  size_t longest() const { return longest_; } // text, in bytes

  // Calls visit(text, id) for each, in the order they came.
  template <typename Visit> void forEach(Visit visit) const {
    for (const Entry &entry : entries_)
      visit(textOf(entry), entry.id);
  }

private:
  struct Entry {
    size_t begin;
    uint32_t length;
    int32_t id;
  };
  struct Slot {
    uint32_t hash;
    uint32_t entry; // plus one; 0 is empty
  };
  std::string_view textOf(const Entry &entry) const {
    return std::string_view(texts_).substr(entry.begin, entry.length);
  }
  void grow(size_t slots);

  std::string texts_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_; // a power of two of them, or none
  size_t longest_ = 0;
};

// Texts by id; "" where an id has none.
class TextsById {
public:
  void set(int32_t id, std::string_view text); // the last counts
  std::string_view operator[](int32_t id) const {
    if (id < 0 || size_t(id) >= places_.size())
      return {};
    return std::string_view(texts_).substr(places_[size_t(id)].begin, places_[size_t(id)].length);
  }
  size_t size() const { return places_.size(); }
  void resize(size_t size) { places_.resize(size); }

private:
  struct Place {
    size_t begin = 0, length = 0;
  };
  std::string texts_;
  std::vector<Place> places_;
};

} // namespace tessera::text
#endif
