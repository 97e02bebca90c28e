// The table at the end of an executable that carries a model (tessera/runtime/io/Embed.h).
#ifndef TESSERA_RUNTIME_IO_EMBEDTABLE_H
#define TESSERA_RUNTIME_IO_EMBEDTABLE_H

#include "tessera/runtime/io/MappedFile.h"

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

// What stands right behind an executable's own bytes if it carries a model; it tells one that was cut short
// from one without a model.
constexpr std::string_view embedBegin = "TSRBGN01";
// The last 8 bytes of one that carries a model; before them two words say where the table is.
constexpr std::string_view embedMagic = "TSRWGT01";
// Whether the last bytes are those of a trailer.
bool endsLikeEmbedded(std::string_view file);

// Nothing if `file` does not end in the magic.
Result<std::optional<EmbedTable>> readEmbedTable(const MappedFile &file);

} // namespace tessera::io
#endif
