// Images of kernels: a cubin or PTX, known by the hash of its bytes; what runs is the LLVM module that it was
// made from.
#ifndef TESSERA_STANDIN_CUDA_IMAGES_H
#define TESSERA_STANDIN_CUDA_IMAGES_H

#include "../engine/Engine.h"
#include "Memory.h"

#include <string>

namespace standin {

// SHA-256, 64 hexadecimal digits.
std::string sha256(const void *data, size_t bytes);

struct ImageBytes {
  const char *data = nullptr;
  size_t bytes = 0;
  bool cubin = false;
  unsigned architecture = 0; // 80: what it runs on at least
  char variant = 0;          // 'a': on that alone; 'f': on its generation alone
  std::string wrong;         // not empty: why this is no image
};

// What an address without a length holds: an ELF file ends behind its headers and sections, PTX at its zero.
ImageBytes imageAt(const void *image);

// Whether a device runs an image: a cubin, and PTX of a variant f, on its own generation from its own number
// on, other PTX from its own on; a variant a on its own number.
bool runsOn(const ImageBytes &image, unsigned architecture);

struct LoadedImage {
  std::string hash;
  std::shared_ptr<Image> image;
  AllocationRef globals; // null: it has none
};

} // namespace standin
#endif
