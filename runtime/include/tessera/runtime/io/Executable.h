// Executables as files: whether all of one is there.
#ifndef TESSERA_RUNTIME_IO_EXECUTABLE_H
#define TESSERA_RUNTIME_IO_EXECUTABLE_H

#include "tessera/runtime/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::io {

// Bytes of an ELF file by its own headers: where its last segment, section or table of them ends. Nothing if
// `file` does not begin as a 64-bit ELF file does.
std::optional<uint64_t> bytesOfElf(std::string_view file);

// Fails where the file at `path` ends before its headers say, or within a model that it carries (Embed.h): a
// copy that broke off. The loader starts such a program as long as what it maps is there.
Status checkExecutableIsWhole(const std::string &path = "/proc/self/exe");

} // namespace tessera::io
#endif
