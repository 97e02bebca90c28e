#include "Compile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace standin {

Image::Image() : data_(nullptr, std::free) {}
Image::~Image() = default;

tessera::Result<std::shared_ptr<Image>> Image::load(const std::string &bitcodePath) {
  tessera::Result<std::shared_ptr<Program>> program = Program::load(bitcodePath);
  if (!program)
    return program.takeFailure();
  std::shared_ptr<Image> image(new Image);
  image->program_ = *program;
  image->kernels_ = image->program_->kernels;
  for (Kernel &kernel : image->kernels_)
    kernel.image = image.get();
  const std::vector<char> &initial = image->program_->initial;
  image->dataBytes_ = initial.size();
  image->data_.reset(static_cast<char *>(std::aligned_alloc(256, (initial.size() + 256) / 256 * 256)));
  std::copy(initial.begin(), initial.end(), image->data_.get());
  for (auto [at, to] : image->program_->pointers) {
    char *address = image->data_.get() + to;
    std::memcpy(image->data_.get() + at, &address, sizeof(address));
  }
  for (const Program::Variable &variable : image->program_->variables)
    image->globals_.push_back(
        {variable.name, image->data_.get() + variable.offset, variable.bytes, variable.constant});
  return image;
}

const Kernel *Image::kernel(const std::string &name) const {
  for (const Kernel &kernel : kernels_)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const DeviceGlobal *Image::global(const std::string &name) const {
  for (const DeviceGlobal &global : globals_)
    if (global.name == name)
      return &global;
  return nullptr;
}

} // namespace standin
