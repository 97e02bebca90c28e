// What make_unicode_tables.py writes; it says what the texts mean. UnicodeForms.cpp reads them.
#ifndef TESSERA_RUNTIME_TEXT_UNICODETABLES_H
#define TESSERA_RUNTIME_TEXT_UNICODETABLES_H

namespace tessera::text {

extern const char *const canonicalDecompositions;
extern const char *const compatibleDecompositions;
extern const char *const combiningClasses;
extern const char *const marks;
extern const char *const wordCharacters;

} // namespace tessera::text
#endif
