#include "Images.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>

namespace standin {

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

std::string sha256(const void *data, size_t bytes) {
  static const uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string text(static_cast<const char *>(data), bytes);
  text += char(0x80);
  while (text.size() % 64 != 56)
    text += char(0);
  for (int shift = 56; shift >= 0; shift -= 8)
    text += char(uint64_t(bytes) * 8 >> shift);
  for (size_t block = 0; block < text.size(); block += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      w[i] = 0;
      for (int j = 0; j < 4; ++j)
        w[i] = w[i] << 8 | uint8_t(text[block + size_t(4 * i + j)]);
    }
    for (int i = 16; i < 64; ++i) {
      uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
             (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                    ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                    ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      for (int j = 7; j > 0; --j)
        s[j] = s[j - 1];
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int j = 0; j < 8; ++j)
      state[j] += s[j];
  }
  std::string out;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      out += "0123456789abcdef"[word >> shift & 15];
  return out;
}

// What a cubin is for. The flags of its header hold the number, in another byte since ABI 8; that it is for
// this one alone (a) they say where the code needs it, and ptxas always in .nv.compat: of its attributes (a
// format, a number, and a value or a size and bytes) number 9 is 1. Of a variant f nothing differs.
static void readArchitecture(const Elf64_Ehdr &header, const char *compat, size_t compatBytes,
                             ImageBytes &image) {
  bool old = header.e_ident[EI_ABIVERSION] < 8;
  image.architecture = header.e_flags >> (old ? 0 : 8) & 0xff;
  bool alone = header.e_flags & (old ? 0x800 : 0x8);
  for (size_t at = 0; at + 4 <= compatBytes;) {
    uint16_t value;
    memcpy(&value, compat + at + 2, 2);
    alone |= compat[at] == 2 && compat[at + 1] == 9 && value == 1;
    at += compat[at] == 4 ? 4 + size_t(value) : 4;
  }
  image.variant = alone ? 'a' : 0;
}

static ImageBytes cubinAt(const char *data) {
  Elf64_Ehdr header;
  memcpy(&header, data, sizeof header);
  ImageBytes image{data, sizeof header, true, 0, 0, ""};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != 190 /* CUDA */) {
    image.wrong = "an ELF file, but no cubin";
    return image;
  }
  Elf64_Shdr names{}, compat{};
  if (header.e_shnum)
    memcpy(&names, data + header.e_shoff + header.e_shstrndx * header.e_shentsize, sizeof names);
  size_t end = std::max(header.e_shoff + size_t(header.e_shnum) * header.e_shentsize,
                        header.e_phoff + size_t(header.e_phnum) * header.e_phentsize);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, data + header.e_shoff + i * header.e_shentsize, sizeof section);
    if (strcmp(data + names.sh_offset + section.sh_name, ".nv.compat") == 0)
      compat = section;
    if (section.sh_type != SHT_NOBITS)
      end = std::max(end, size_t(section.sh_offset + section.sh_size));
  }
  image.bytes = std::max(image.bytes, end);
  readArchitecture(header, data + compat.sh_offset, compat.sh_size, image);
  return image;
}

// "90a", of `.target sm_90a`.
static void readTarget(const char *text, ImageBytes &image) {
  char *rest = nullptr;
  image.architecture = unsigned(strtoul(text, &rest, 10));
  if (*rest == 'a' || *rest == 'f')
    image.variant = *rest;
}

ImageBytes imageAt(const void *at) {
  auto *data = static_cast<const char *>(at);
  if (memcmp(data, ELFMAG, 4) == 0)
    return cubinAt(data);
  ImageBytes image{data, 0, false, 0, 0, ""};
  if (uint8_t(data[0]) >= 0x80) {
    image.wrong = "neither a cubin nor PTX";
    return image;
  }
  image.bytes = strlen(data);
  const char *target = strstr(data, ".target sm_");
  if (!strstr(data, ".version") || !target)
    image.wrong = "text without .version and .target: no PTX";
  else
    readTarget(target + strlen(".target sm_"), image);
  return image;
}

bool runsOn(const ImageBytes &image, unsigned architecture) {
  if (image.variant == 'a')
    return image.architecture == architecture;
  if (image.architecture > architecture)
    return false;
  bool within = image.cubin || image.variant == 'f';
  return !within || image.architecture / 10 == architecture / 10;
}

} // namespace standin
