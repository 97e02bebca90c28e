#include "ScalarDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/cpu/Driver.h"

namespace tessera::runtime {
namespace {

class ScalarDriver final : public Driver {
public:
  const char *name() const override { return "scalar"; }
  const char *target() const override { return "scalar"; }
  void checkMachine(const Manifest &manifest) const override { tileOf(manifest); }
  std::string compiledFor(const Manifest &manifest) const override {
    return "tiles of " + std::to_string(tileOf(manifest));
  }
  void prepareProcess() const override { cpuDriver().prepareProcess(); }
  void prepareThread() const override { cpuDriver().prepareThread(); }
  // The target packs nothing.
  std::unique_ptr<WeightLayout> layout(const ParamSpec &spec) const override {
    if (spec.packOutDims)
      throw Error("cannot hold a parameter", spec.name, "it is packed", "compile it with --target=scalar");
    return cpuDriver().layout(spec);
  }
  std::unique_ptr<Device> open(const DeviceOptions &options) const override {
    return cpuDriver().open(options);
  }

private:
  static int64_t tileOf(const Manifest &manifest) {
    int64_t tile = 0;
    readSection(manifest, [&](Fields &fields) { tile = fields.get<int64_t>("tile"); });
    if (tile < 1)
      throw Error("cannot run this program", "scalar", "its tiles have " + std::to_string(tile) + " elements",
                  "compile it again");
    return tile;
  }
};

} // namespace

const Driver &scalarDriver() {
  static const ScalarDriver driver;
  return driver;
}

} // namespace tessera::runtime
