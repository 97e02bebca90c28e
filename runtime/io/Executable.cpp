#include "tessera/runtime/io/Executable.h"

#include "EmbedTable.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>

namespace tessera::io {

// The element at byte `at`, or nothing behind the end of the file.
template <typename T> static std::optional<T> read(std::string_view file, uint64_t at) {
  T value;
  if (at > file.size() || sizeof(T) > file.size() - at)
    return std::nullopt;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

std::optional<uint64_t> bytesOfElf(std::string_view file) {
  auto header = read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  uint64_t end =
      std::max<uint64_t>(sizeof(Elf64_Ehdr), header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr));
  if (header->e_shnum)
    end = std::max<uint64_t>(end, header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < header->e_phnum; ++i)
    if (auto segment = read<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr)))
      end = std::max<uint64_t>(end, segment->p_offset + segment->p_filesz);
  return end;
}

Status checkExecutableIsWhole(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return {}; // nothing is known of it
  auto cut = [&](const std::string &why) {
    std::error_code none;
    std::filesystem::path link = std::filesystem::read_symlink(path, none);
    return Failure{"cannot run this program", none ? path : link.string(), "the file was cut short: " + why,
                   "copy it again, or compile it again"};
  };
  std::string_view text = (*file)->text();
  std::optional<uint64_t> whole = bytesOfElf(text);
  if (!whole)
    return {};
  if (text.size() < *whole)
    return cut("it has " + std::to_string(text.size()) + " of " + std::to_string(*whole) + " bytes");
  std::string_view behind = text.substr(*whole, embedBegin.size());
  if (!behind.empty() && behind == embedBegin.substr(0, behind.size()) && !endsLikeEmbedded(text))
    return cut("it ends within the model that it carries");
  return {};
}

} // namespace tessera::io
