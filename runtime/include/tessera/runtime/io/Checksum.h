// XXH64 (Yann Collet's xxHash, 64 bits, seed 0): a checksum for accidents, at about the speed of memory. Not
// for adversaries. `xxhsum -H1 FILE` prints the same.
#ifndef TESSERA_RUNTIME_IO_CHECKSUM_H
#define TESSERA_RUNTIME_IO_CHECKSUM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::io {

uint64_t checksum(const void *data, size_t bytes);
inline uint64_t checksum(std::string_view text) { return checksum(text.data(), text.size()); }

// 16 hexadecimal digits, and back. False: `text` is not 16 digits.
std::string hexText(uint64_t value);
bool readHexText(std::string_view text, uint64_t &value);

} // namespace tessera::io
#endif
