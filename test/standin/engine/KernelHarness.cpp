#include "KernelHarness.h"

namespace standin {

std::shared_ptr<Image> loadKernels(const std::string &name) {
  auto image = Image::load(std::string(STANDIN_KERNELS) + "/" + name + ".bc");
  EXPECT_TRUE(bool(image)) << (image ? "" : image.failure().message());
  return image ? *image : nullptr;
}

TestLaunch::TestLaunch(const std::shared_ptr<Image> &image, const std::string &kernel) : image(image) {
  request.kernel = image->kernel(kernel);
  if (!request.kernel) {
    ADD_FAILURE() << "no kernel " << kernel;
    std::abort();
  }
  parameters.resize(request.kernel->parameterBytes + 1);
}

} // namespace standin
