// Which form of a kernel is launched: measured on one rank, the same on all that have it.
#include "CudaModule.h"
#include "CudaStream.h"
#include "CudaTimer.h"
#include "TrialNumbers.h"
#include "TuningFile.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tessera::runtime {

using namespace cuda;

namespace {
// What TESSERA_SIBLING and the file of choices call the kernel of the table.
constexpr const char *kNone = "none";
} // namespace

const char *CudaModule::Sibling::form() const { return strchr(spec->name, '$') + 1; }

// Times of kernels on the service stream, in memory that nothing uses yet.
class CudaModule::SiblingTrials {
public:
  SiblingTrials(CudaModule &module, const Buffer &arena)
      : module_(module), device_(module.device_), arena_(arena), timer_(device_) {}

  // The fastest of a kernel and those of its siblings that the image has; nothing where the buffers find no
  // room.
  std::optional<std::string> fastest(const Kernel &kernel, const std::vector<const Sibling *> &siblings) {
    std::vector<int64_t> places = placeBuffers(kernel);
    if (places.back() > int64_t(arena_.bytes()))
      return std::nullopt;
    std::vector<void *> buffers;
    for (size_t i = 0; i < kernel.buffers; ++i)
      buffers.push_back(arena_.address() + places[i]);
    TrialNumbers numbers(device_);
    numbers.clear(arena_.address(), size_t(places.back()));
    for (size_t i = 0; i < kernel.buffers; ++i)
      if (kernel.bufferSpecs[i].access == (TS_READ | TS_FLOATS))
        numbers.fill(buffers[i], size_t(kernel.bufferSpecs[i].bytes));
    const ts_sibling &spec = *siblings.front()->spec;
    fillAscending(spec, kernel.bufferSpecs[spec.ascending].bytes, buffers[size_t(spec.ascending)]);
    std::vector<int64_t> scalars(kernel.scalars);
    Launch launch{spec.kernel, buffers.data(), scalars.data(), spec.count, 1};
    std::string best = kNone, times;
    float least = measure(kernel, nullptr, launch);
    times = kNone + (" " + milliseconds(least));
    for (const Sibling *sibling : siblings) {
      float time = measure(kernel, sibling, launch);
      times += std::string(", ") + sibling->form() + " " + milliseconds(time);
      if (time < least) {
        least = time;
        best = sibling->form();
      }
    }
    if (device_.settings().verbose)
      fprintf(stderr, "%s: %s: %s\n", device_.describe().c_str(), kernel.name, times.c_str());
    return best;
  }

private:
  static std::string milliseconds(float time) {
    char text[32];
    snprintf(text, sizeof(text), "%.4f ms", double(time));
    return text;
  }

  // Where each buffer begins, one after another, and where the last one ends.
  static std::vector<int64_t> placeBuffers(const Kernel &kernel) {
    std::vector<int64_t> places = {0};
    for (size_t i = 0; i < kernel.buffers; ++i)
      places.push_back(places.back() + (kernel.bufferSpecs[i].bytes + 255) / 256 * 256);
    return places;
  }

  void fillAscending(const ts_sibling &spec, int64_t bytes, void *to) {
    std::vector<int32_t> numbers(size_t(bytes) / sizeof(int32_t));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = int32_t(spec.first + int64_t(i) % spec.row);
    device_.expect(device_.cuda().cuMemcpyHtoDAsync(devicePointer(to), numbers.data(),
                                                    numbers.size() * sizeof(int32_t),
                                                    device_.serviceStream()),
                   "upload numbers");
    device_.waitForStream(device_.serviceStream());
  }

  // In milliseconds.
  float measure(const Kernel &kernel, const Sibling *sibling, const Launch &launch) {
    return *timer_.median("measure a kernel", [&](int, CUstream stream) {
      module_.give(stream, kernel, sibling, launch);
      return true;
    });
  }

  CudaModule &module_;
  CudaDevice &device_;
  const Buffer &arena_;
  CudaTimer timer_;
};

// Every kernel that has a sibling of that form takes it.
void CudaModule::takeForm(const std::string &form) {
  std::set<std::string> forms = {kNone};
  for (const Sibling &sibling : siblings_) {
    forms.insert(sibling.form());
    if (sibling.function && form == sibling.form())
      kernels_[size_t(sibling.spec->kernel)].taken = &sibling;
  }
  if (forms.count(form))
    return;
  std::string list;
  for (const std::string &each : forms)
    list += (list.empty() ? "" : ", ") + each;
  throw Error("cannot take the kernels that TESSERA_SIBLING asks for", form,
              "no kernel of the program has one of that form", "it may be one of " + list);
}

// Of each kernel of `own`, by key, the form that it takes, measured now or before.
Choices CudaModule::chooseSiblings(const std::set<std::string> &own, const Buffer &arena) {
  if (own.empty())
    return {};
  const CudaProperties &gpu = device_.properties();
  TuningFile choices(
      "siblings",
      gpu.name + ", " + std::to_string(gpu.multiprocessors) + " multiprocessors, CUDA " +
          std::to_string(device_.cuda().version),
      [](const std::string &value) { return !value.empty(); },
      [&](const std::string &why) { device_.remark(why); });
  SiblingTrials trials(*this, arena);
  Choices taken;
  for (const auto &[kernel, siblings] : loadedSiblings()) {
    const char *key = siblings.front()->spec->key;
    if (!own.count(key))
      continue;
    std::optional<std::string> choice = choices.find(key);
    if (!choice && (choice = trials.fastest(kernels_[kernel], siblings)))
      choices.add(key, *choice);
    if (choice)
      taken[key] = *choice;
  }
  choices.save();
  return taken;
}

// By number of the kernel: of those that the image has.
std::map<size_t, std::vector<const CudaModule::Sibling *>> CudaModule::loadedSiblings() const {
  std::map<size_t, std::vector<const Sibling *>> loaded;
  for (const Sibling &sibling : siblings_)
    if (sibling.function)
      loaded[size_t(sibling.spec->kernel)].push_back(&sibling);
  return loaded;
}

void CudaModule::tune(const Buffer &arena) {
  const CudaSettings &settings = device_.settings();
  if (settings.sibling.empty() && !settings.deterministic)
    takeFastest(arena, device_.options().plane); // others may have some where this one has none
  else if (!siblings_.empty() && !settings.sibling.empty())
    takeForm(settings.sibling);
  if (!settings.verbose)
    return;
  for (const Kernel &kernel : kernels_)
    if (kernel.taken)
      fprintf(stderr, "%s: %s is launched in place of %s\n", device_.describe().c_str(),
              kernel.taken->spec->name, kernel.name);
}

void CudaModule::takeFastest(const Buffer &arena, HostPlane *plane) {
  std::set<std::string> keys;
  for (const auto &[kernel, siblings] : loadedSiblings())
    keys.insert(siblings.front()->spec->key);
  Choices choices =
      agree(plane, keys, [&](const std::set<std::string> &own) { return chooseSiblings(own, arena); });
  // A rank whose image lacks another's choice keeps the kernel of the table.
  for (const auto &[kernel, siblings] : loadedSiblings())
    for (const Sibling *sibling : siblings)
      if (auto at = choices.find(sibling->spec->key); at != choices.end() && at->second == sibling->form())
        kernels_[kernel].taken = sibling;
}

} // namespace tessera::runtime
