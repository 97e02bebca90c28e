// Which form of a kernel is launched: measured on rank 0, the same on all ranks.
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

// Of each sibling whether it is taken, measured now or before.
std::vector<uint8_t> CudaModule::chooseSiblings(const Buffer &arena) {
  const CudaProperties &gpu = device_.properties();
  TuningFile choices(
      "siblings",
      gpu.name + ", " + std::to_string(gpu.multiprocessors) + " multiprocessors, CUDA " +
          std::to_string(device_.cuda().version),
      [](const std::string &value) { return !value.empty(); },
      [&](const std::string &why) { device_.remark(why); });
  SiblingTrials trials(*this, arena);
  std::vector<uint8_t> taken(siblings_.size());
  for (size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    std::vector<const Sibling *> own;
    for (const Sibling &sibling : siblings_)
      if (sibling.function && size_t(sibling.spec->kernel) == kernel)
        own.push_back(&sibling);
    if (own.empty())
      continue;
    const char *key = own.front()->spec->key;
    std::optional<std::string> choice = choices.find(key);
    if (!choice && (choice = trials.fastest(kernels_[kernel], own)))
      choices.add(key, *choice);
    for (const Sibling *sibling : own)
      taken[size_t(sibling - siblings_.data())] = choice == sibling->form();
  }
  choices.save();
  return taken;
}

void CudaModule::tune(const Buffer &arena) {
  if (siblings_.empty())
    return;
  const CudaSettings &settings = device_.settings();
  if (!settings.sibling.empty())
    takeForm(settings.sibling);
  else if (!settings.deterministic)
    takeFastest(arena);
  if (!settings.verbose)
    return;
  for (const Kernel &kernel : kernels_)
    if (kernel.taken)
      fprintf(stderr, "%s: %s is launched in place of %s\n", device_.describe().c_str(),
              kernel.taken->spec->name, kernel.name);
}

void CudaModule::takeFastest(const Buffer &arena) {
  HostPlane *plane = device_.options().plane;
  std::vector<uint8_t> taken(siblings_.size());
  if (!plane || plane->rank() == 0)
    taken = chooseSiblings(arena);
  if (plane && plane->ranks() > 1)
    plane->broadcast(taken.data(), taken.size(), 0);
  // A rank whose image lacks rank 0's choice keeps the kernel of the table.
  for (size_t i = 0; i < siblings_.size(); ++i)
    if (taken[i] && siblings_[i].function)
      kernels_[size_t(siblings_[i].spec->kernel)].taken = &siblings_[i];
}

} // namespace tessera::runtime
