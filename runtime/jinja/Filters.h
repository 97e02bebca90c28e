// Filters by subject; findFilter looks in all of them.
#ifndef TESSERA_RUNTIME_JINJA_FILTERS_H
#define TESSERA_RUNTIME_JINJA_FILTERS_H

#include "Interpreter.h"

namespace tessera::jinja {

Builtin findTextFilter(std::string_view name);     // FilterText.cpp
Builtin findSequenceFilter(std::string_view name); // FilterSequences.cpp
Builtin findNumberFilter(std::string_view name);   // FilterNumbers.cpp

} // namespace tessera::jinja
#endif
