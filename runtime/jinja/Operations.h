// What Python does with values. All throw TemplateError where Python raises; all count their steps.
#ifndef TESSERA_RUNTIME_JINJA_OPERATIONS_H
#define TESSERA_RUNTIME_JINJA_OPERATIONS_H

#include "Heap.h"

#include <algorithm>
#include <iterator>

namespace tessera::jinja {

const char *typeName(const Value &value); // "text", "a list", ... for errors
bool isTrue(const Value &value);
bool equal(Heap &heap, const Value &left, const Value &right);
bool less(Heap &heap, const Value &left, const Value &right);
bool contains(Heap &heap, const Value &container, const Value &item);
bool isIterable(const Value &value);
// len(); fails for what has none.
int64_t lengthOf(const Value &value);
// The elements as a sequence: characters of a text, keys of a dictionary, what is left of an iterator.
// Nothing is copied of what is a sequence.
Value elements(Heap &heap, const Value &value);
// left OPERATION right: + - * / // % **
Value binary(Heap &heap, std::string_view operation, const Value &left, const Value &right);
Value negative(const Value &value);
// value[begin:end:step]; none where left out.
Value slice(Heap &heap, const Value &value, const Value &begin, const Value &end, const Value &step);
Value reversed(Heap &heap, const Value &sequence);
// The place that an index means in `length` places; -1 if there is none.
int64_t placeOf(int64_t index, int64_t length);

// str(), repr().
void appendText(TextBuilder &out, const Value &value);
void appendRepr(TextBuilder &out, const Value &value);
std::string textOf(Heap &heap, const Value &value);
std::string floatText(double value);
// HTML's escapes.
std::string escaped(Heap &heap, std::string_view text);

// json.dumps.
struct JsonStyle {
  bool ensureAscii = false, sortKeys = false;
  std::string indent; // of a level
  bool hasIndent = false;
  std::string itemSeparator = ", ", keySeparator = ": ";
};
void appendJson(TextBuilder &out, Heap &heap, const Value &value, const JsonStyle &style, int level = 0);

// Equals keep their order. Takes any `before`, also one that is no order (numbers that are none).
template <typename T, typename Before> void sortStably(std::vector<T> &items, Before before) {
  std::vector<T> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      size_t middle = std::min(begin + width, items.size()), end = std::min(begin + 2 * width, items.size());
      auto at = [&](size_t i) { return std::make_move_iterator(items.begin() + long(i)); };
      std::merge(at(begin), at(middle), at(middle), at(end), merged.begin() + long(begin), before);
    }
    items.swap(merged);
  }
}

// "%d items" % values, and "{} items".format(...), in FormatText.cpp.
std::string formatPercent(Heap &heap, std::string_view format, const Value &values);

} // namespace tessera::jinja
#endif
