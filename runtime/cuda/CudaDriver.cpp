// What can be said of a CUDA program without a GPU; no library is opened here.
#include "CudaDevice.h"
#include "CudaModule.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/cuda/Driver.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

// The manifest's section: {"architectures": ["sm_80", "sm_90a", "compute_80"]}.
std::vector<std::string> readArchitectures(const Manifest &manifest) {
  std::vector<std::string> architectures;
  readSection(manifest, [&](Fields &fields) {
    architectures = fields.get("architectures", std::vector<std::string>());
  });
  for (const std::string &architecture : architectures)
    if (!CudaArchitecture::parse(architecture))
      damaged(manifest.target, "names \"" + architecture + "\", which is no architecture of a GPU");
  return architectures;
}

class CudaDriver final : public Driver {
public:
  const char *name() const override { return "cuda"; }
  const char *target() const override { return "cuda"; }
  const char *fabric() const override { return "nccl"; }
  // Which GPU there is, and whether one of the images runs there, is seen when a device is opened.
  void checkMachine(const Manifest &manifest) const override {
    readArchitectures(manifest);
    CudaSettings::fromEnvironment();
  }
  void findDevices() const override { CudaLibrary::get(); }
  std::string compiledFor(const Manifest &manifest) const override {
    std::string list;
    for (const std::string &architecture : readArchitectures(manifest))
      list += (list.empty() ? "" : ", ") + architecture;
    return list;
  }
  std::unique_ptr<WeightLayout> layout(const ParamSpec &spec) const override {
    return std::make_unique<CudaWeightLayout>(spec);
  }
  int64_t workspaceBytes(const Manifest &manifest) const override {
    int64_t streams = std::count(manifest.streams.begin(), manifest.streams.end(), StreamKind::Compute);
    return manifest.matmuls.empty() ? 0 : streams * int64_t(kProductWorkspaceBytes);
  }
  // A GPU loads one image, and which one is seen there: the largest cubin. PTX becomes code of about that
  // size, its text is longer; it counts where there is nothing else to go by.
  int64_t codeBytes(const ts_program &program) const override {
    int64_t cubin = 0, text = 0;
    for (uint64_t i = 0; i < program.num_images; ++i) {
      const ts_image &image = program.images[i];
      int64_t &most = CudaArchitecture::parse(image.architecture)->ptx ? text : cubin;
      most = std::max(most, loadedBytes(image));
    }
    return cubin ? cubin : text;
  }
  int64_t pinnedBytes() const override {
    return int64_t(StagingRing::kMostBlocks * StagingRing::kBlockBytes);
  }
  std::unique_ptr<Device> open(const DeviceOptions &options) const override {
    return std::make_unique<CudaDevice>(options);
  }
};

} // namespace

const Driver &cudaDriver() {
  static const CudaDriver driver;
  return driver;
}

} // namespace tessera::runtime
