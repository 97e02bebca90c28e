// The table at the end of an executable that carries a model (tessera/runtime/io/Embed.h).
#ifndef TESSERA_RUNTIME_IO_EMBEDTABLE_H
#define TESSERA_RUNTIME_IO_EMBEDTABLE_H

#include "MappedFile.h"

#include <optional>
#include <vector>

namespace tessera::io {

struct EmbedEntry {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

struct EmbedTable {
  bool isDirectory = false; // a Hugging Face directory; else exactly one entry
  std::vector<EmbedEntry> entries;
};

// Nothing if `file` does not end in the magic.
Result<std::optional<EmbedTable>> readEmbedTable(const MappedFile &file);

} // namespace tessera::io
#endif
