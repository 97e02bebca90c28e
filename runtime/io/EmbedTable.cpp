// Reads the table at the end of an executable that carries a model.
#include "EmbedTable.h"

#include "tessera/runtime/io/Json.h"

#include <cstring>

namespace tessera::io {

static constexpr size_t trailerBytes = 24; // two words, and the magic

bool endsLikeEmbedded(std::string_view file) {
  return file.size() >= trailerBytes && file.substr(file.size() - embedMagic.size()) == embedMagic;
}

Result<std::optional<EmbedTable>> readEmbedTable(const MappedFile &file) {
  std::string_view text = file.text();
  if (!endsLikeEmbedded(text))
    return std::optional<EmbedTable>();
  auto bad = [&](const std::string &why) {
    return Failure{"cannot read the embedded model", file.where(), why, "compile again with --embed-weights"};
  };
  uint64_t words[2];
  std::memcpy(words, text.data() + text.size() - trailerBytes, 16);
  const uint64_t limit = text.size() - trailerBytes;
  if (words[0] > limit || words[1] != limit - words[0])
    return bad("its table is not where the trailer says");
  Result<nlohmann::json> json = parseJson(text.substr(words[0], words[1]), file.where());
  if (!json)
    return bad("its table is damaged: " + json.failure().why);
  if (!json->is_object() || !json->contains("format") || !(*json)["format"].is_string() ||
      !json->contains("files") || !(*json)["files"].is_array())
    return bad("its table is damaged");
  EmbedTable table;
  table.isDirectory = (*json)["format"] == "huggingface";
  for (const nlohmann::json &item : (*json)["files"]) {
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string() ||
        !item.contains("offset") || !item["offset"].is_number_unsigned() || !item.contains("bytes") ||
        !item["bytes"].is_number_unsigned())
      return bad("an entry of its table is damaged");
    EmbedEntry entry{item["name"].get<std::string>(), item["offset"].get<uint64_t>(),
                     item["bytes"].get<uint64_t>()};
    if (entry.offset > limit || entry.bytes > limit - entry.offset)
      return bad("\"" + entry.name + "\" reaches beyond the end of the file");
    table.entries.push_back(std::move(entry));
  }
  if (table.entries.empty() || (!table.isDirectory && table.entries.size() != 1))
    return bad("its table names " + std::to_string(table.entries.size()) + " files");
  return std::optional<EmbedTable>(std::move(table));
}

} // namespace tessera::io
