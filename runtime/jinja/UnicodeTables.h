// What UnicodeTables.cpp holds: sorted by their first character.
#ifndef TESSERA_RUNTIME_JINJA_UNICODETABLES_H
#define TESSERA_RUNTIME_JINJA_UNICODETABLES_H

#include <cstddef>
#include <cstdint>

namespace tessera::jinja {

struct CaseRange {
  char32_t first, last;
  uint8_t step;  // characters first, first + step, ...
  int32_t delta; // what is added to one
};
struct LongUpper {
  char32_t character, upper[3]; // ends at 0
};
struct CharacterRange {
  char32_t first, last;
};

extern const CaseRange upperRanges[], lowerRanges[];
extern const LongUpper longUppers[];
extern const CharacterRange unprintable[];
extern const size_t upperRangeCount, lowerRangeCount, longUpperCount, unprintableCount;

} // namespace tessera::jinja
#endif
