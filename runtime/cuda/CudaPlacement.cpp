#include "CudaPlacement.h"
#include "tessera/runtime/core/Error.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <unistd.h>

namespace tessera::runtime {

using namespace cuda;

static bool sameMachine(const RankPlace &a, const RankPlace &b) {
  return strncmp(a.machine, b.machine, sizeof(a.machine)) == 0;
}

int64_t localRank(const std::vector<RankPlace> &places, int64_t rank) {
  int64_t before = 0;
  for (int64_t other = 0; other < rank; ++other)
    before += sameMachine(places[size_t(other)], places[size_t(rank)]);
  return before;
}

void checkNoneShared(const std::vector<RankPlace> &places) {
  for (size_t rank = 0; rank < places.size(); ++rank)
    for (size_t other = 0; other < rank; ++other) {
      if (!sameMachine(places[rank], places[other]) ||
          memcmp(places[rank].gpu.bytes, places[other].gpu.bytes, sizeof(CUuuid::bytes)) != 0)
        continue;
      int64_t ranks = 0;
      for (const RankPlace &place : places)
        ranks += sameMachine(place, places[rank]);
      int32_t shown = places[rank].shown;
      throw Error(
          "cannot give every rank a GPU", std::string("machine ") + places[rank].machine,
          "it has " + std::to_string(ranks) + " ranks, and rank " + std::to_string(rank) + " sees " +
              std::to_string(shown) + (shown == 1 ? " GPU" : " GPUs") +
              ", so that it would share one with rank " + std::to_string(other),
          "compile for a smaller mesh or start on more machines; to share a GPU, start each rank as a "
          "process with TESSERA_CUDA_DEVICE=NUMBER and an NCCL_HOSTID of its own");
    }
}

static std::vector<RankPlace> gatherAll(HostPlane &plane, const RankPlace &own) {
  std::vector<RankPlace> places(size_t(plane.ranks()));
  plane.gather(&own, sizeof(own), places.data(), 0);
  plane.broadcast(places.data(), places.size() * sizeof(own), 0);
  return places;
}

// TESSERA_CUDA_DEVICE.
static std::optional<int> givenDevice(int count) {
  const char *text = getenv("TESSERA_CUDA_DEVICE");
  if (!text || !*text)
    return std::nullopt;
  char *end = nullptr;
  long number = strtol(text, &end, 10);
  if (end == text || *end)
    throw Error("cannot use this GPU", std::string("TESSERA_CUDA_DEVICE=") + text, "it is no number of a GPU",
                "unset it, or give it one of those that nvidia-smi lists");
  if (number < 0 || number >= count)
    throw Error("cannot use this GPU", std::string("TESSERA_CUDA_DEVICE=") + text,
                "this process sees " + std::to_string(count) + (count == 1 ? " GPU" : " GPUs") +
                    ", numbered from 0",
                "look at nvidia-smi and at CUDA_VISIBLE_DEVICES");
  return int(number);
}

CUdevice chooseDevice(const CudaLibrary &cuda, int64_t rank, HostPlane *plane) {
  auto expect = [&](CUresult result) {
    if (result != CUDA_SUCCESS)
      throw Error("cannot use a GPU", "rank " + std::to_string(rank), cuda.describe(result),
                  "look at nvidia-smi");
  };
  RankPlace own;
  expect(cuda.cuDeviceGetCount(&own.shown));
  const char *machine = getenv("TESSERA_MACHINE"); // tells ranks of one machine apart, for tests
  if (machine)
    strncpy(own.machine, machine, sizeof(own.machine) - 1);
  else
    gethostname(own.machine, sizeof(own.machine) - 1);

  std::optional<int> given = givenDevice(own.shown);
  int number = given.value_or(0);
  bool alone = !plane || plane->ranks() == 1;
  if (!alone) {
    int64_t local = localRank(gatherAll(*plane, own), rank);
    number = given.value_or(int(local % own.shown));
  }
  CUdevice device = 0;
  expect(cuda.cuDeviceGet(&device, number));
  if (!alone) {
    if (given)
      memcpy(own.gpu.bytes, &rank, sizeof(rank)); // shares with nobody
    else
      expect(cuda.cuDeviceGetUuid(&own.gpu, device));
    checkNoneShared(gatherAll(*plane, own));
  }
  return device;
}

} // namespace tessera::runtime
