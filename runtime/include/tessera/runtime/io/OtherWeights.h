// Weights that are not read.
#ifndef TESSERA_RUNTIME_IO_OTHERWEIGHTS_H
#define TESSERA_RUNTIME_IO_OTHERWEIGHTS_H

#include "tessera/runtime/io/ModelFile.h"

#include <string>

namespace tessera::io {

// Of a Hugging Face directory without weights that are read: the name of a file in it that looks like
// weights, in another format or under another name. Empty if there is none, and for all else.
std::string otherWeights(const ModelFile &model);

} // namespace tessera::io
#endif
