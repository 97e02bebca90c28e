#include "tessera/runtime/io/Checksum.h"

#include <cstdio>
#include <cstring>

namespace tessera::io {

namespace {
constexpr uint64_t prime1 = 0x9E3779B185EBCA87u, prime2 = 0xC2B2AE3D27D4EB4Fu, prime3 = 0x165667B19E3779F9u,
                   prime4 = 0x85EBCA77C2B2AE63u, prime5 = 0x27D4EB2F165667C5u;

uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

template <typename T> uint64_t load(const unsigned char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// One lane takes eight bytes.
uint64_t taken(uint64_t lane, uint64_t word) { return rotate(lane + word * prime2, 31) * prime1; }
uint64_t merged(uint64_t hash, uint64_t lane) { return (hash ^ taken(0, lane)) * prime1 + prime4; }
} // namespace

uint64_t checksum(const void *data, size_t bytes) {
  auto *at = static_cast<const unsigned char *>(data);
  size_t left = bytes;
  uint64_t hash = prime5;
  if (bytes >= 32) {
    uint64_t lanes[4] = {prime1 + prime2, prime2, 0, 0 - prime1};
    for (; left >= 32; left -= 32)
      for (uint64_t &lane : lanes) {
        lane = taken(lane, load<uint64_t>(at));
        at += 8;
      }
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = merged(hash, lane);
  }
  hash += uint64_t(bytes);
  for (; left >= 8; left -= 8, at += 8)
    hash = rotate(hash ^ taken(0, load<uint64_t>(at)), 27) * prime1 + prime4;
  if (left >= 4) {
    hash = rotate(hash ^ load<uint32_t>(at) * prime1, 23) * prime2 + prime3;
    at += 4, left -= 4;
  }
  for (; left > 0; --left)
    hash = rotate(hash ^ *at++ * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

std::string hexText(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
  return text;
}

bool readHexText(std::string_view text, uint64_t &value) {
  value = 0;
  for (char c : text) {
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0)
      return false;
    value = value << 4 | uint64_t(digit);
  }
  return text.size() == 16;
}

} // namespace tessera::io
