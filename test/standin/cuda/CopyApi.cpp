// Copies and memsets. What the host must leave alone until a copy has run is watched.
#include "Declarations.h"
#include "Streams.h"

#include <algorithm>
#include <cstring>

using namespace standin;

namespace standin {

static uint64_t hashOf(const char *data, size_t bytes) {
  uint64_t lanes[4] = {1, 2, 3, 4}, word;
  size_t i = 0;
  for (; i + 32 <= bytes; i += 32)
    for (int lane = 0; lane < 4; ++lane) {
      memcpy(&word, data + i + 8 * lane, 8);
      lanes[lane] = (lanes[lane] ^ word) * 0x9e3779b97f4a7c15;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  uint64_t sum = lanes[0] * 3 + lanes[1] * 5 + lanes[2] * 7 + lanes[3] * 11;
  for (; i < bytes; ++i)
    sum = (sum ^ uint8_t(data[i])) * 0x100000001b3;
  return sum;
}

static bool isPoison(const char *data, size_t bytes) {
  return bytes == 0 || (data[0] == char(0xff) && memcmp(data, data + 1, bytes - 1) == 0);
}

// Whether work that has been given may still write there by itself: a kernel, or a host function.
static bool mayChange(Machine &machine, const AllocationRef &memory, uintptr_t begin, size_t bytes) {
  if (machine.pendingAccess(begin, begin + bytes, /*reads=*/false) || machine.pendingKind("host"))
    return true;
  UnitRef user = machine.pendingUser(memory->id);
  return user && user->operation->kind == "kernel";
}

struct CopyCall {
  std::string name;
  uintptr_t to, from;
  size_t bytes;
  AllocationRef toMemory, fromMemory; // null: pageable memory of the host
  const char *direction;
};

static OperationRef copyOperation(Call &call, const CopyCall &copy) {
  auto operation = std::make_shared<Operation>();
  operation->kind = "copy";
  operation->what = copy.name + " of " + countOf(copy.bytes, "byte");
  auto uses = [&](const AllocationRef &memory, uintptr_t at, bool writes) {
    if (!memory)
      return;
    operation->uses.push_back(memory);
    operation->touched.push_back({at, at + copy.bytes, writes});
  };
  uses(copy.fromMemory, copy.from, false);
  uses(copy.toMemory, copy.to, true);
  Machine &machine = call.machine;
  operation->start = [&machine, copy, what = operation->what]() -> Run {
    auto *to = reinterpret_cast<char *>(copy.to);
    auto *from = reinterpret_cast<const char *>(copy.from);
    size_t bytes = copy.bytes;
    bool fromHost = copy.fromMemory && !copy.fromMemory->onDevice(),
         toHost = copy.toMemory && !copy.toMemory->onDevice();
    bool watched = fromHost && !mayChange(machine, copy.fromMemory, copy.from, bytes);
    uint64_t hash = watched ? hashOf(from, bytes) : 0;
    // Whoever reads the copy before it has run finds no number. What others still do there comes first.
    bool poisoned = toHost && !machine.pendingAccess(copy.to, copy.to + bytes, /*reads=*/true) &&
                    !mayChange(machine, copy.toMemory, copy.to, bytes);
    if (poisoned)
      memset(to, 0xff, bytes);
    return [=](Unit &) {
      if (watched && hashOf(from, bytes) != hash)
        violation(what +
                  ": the host changed the memory that it reads before the copy had run; wait for an event "
                  "behind the copy");
      if (poisoned && !isPoison(to, bytes))
        violation(
            what +
            ": the host wrote where the copy goes before it had run; wait for an event behind the copy");
      memmove(to, from, bytes);
      return Progress::Done;
    };
  };
  return operation;
}

static OperationRef stagedOperation(const CopyCall &copy) {
  auto operation = std::make_shared<Operation>();
  operation->kind = "copy";
  operation->what = copy.name + " of " + countOf(copy.bytes, "byte");
  operation->uses.push_back(copy.toMemory);
  operation->touched.push_back({copy.to, copy.to + copy.bytes, true});
  auto *from = reinterpret_cast<const char *>(copy.from);
  auto staged = std::make_shared<std::vector<char>>(from, from + copy.bytes);
  operation->start = [copy, staged]() -> Run {
    return [copy, staged](Unit &) {
      memcpy(reinterpret_cast<char *>(copy.to), staged->data(), copy.bytes);
      return Progress::Done;
    };
  };
  return operation;
}

// Host memory of a copy, with what is pinned looked up. A part of pinned memory and a part of pageable memory
// make no copy.
static AllocationRef hostMemory(Call &call, uintptr_t at, size_t bytes, const char *role) {
  AllocationRef found = call.machine.memory.find(at);
  if (!found && call.machine.memory.isDeviceAddress(at))
    call.refuse(CUDA_ERROR_INVALID_VALUE, std::string(role) + ": " + call.machine.memory.describe(at),
                "pass memory of the host");
  if (!found)
    return nullptr;
  if (found->onDevice())
    call.refuse(CUDA_ERROR_INVALID_VALUE,
                std::string(role) + ": " + call.machine.memory.place(at) + " is memory of the device",
                "pass memory of the host");
  std::string why;
  if (!call.machine.memory.find(at, bytes, why))
    call.refuse(CUDA_ERROR_INVALID_VALUE, std::string(role) + ": " + why, "copy within the allocation");
  return found;
}

static CopyCall copyOf(Call &call, const char *direction, uintptr_t to, uintptr_t from, size_t bytes) {
  CopyCall copy{call.name, to, from, bytes, nullptr, nullptr, direction};
  copy.toMemory = direction[3] == 'H' ? hostMemory(call, to, bytes, "destination")
                                      : call.deviceMemory(to, bytes, "destination");
  copy.fromMemory = direction[0] == 'H' ? hostMemory(call, from, bytes, "source")
                                        : call.deviceMemory(from, bytes, "source");
  if (to < from + bytes && from < to + bytes)
    call.violation("source and destination overlap", "copy by way of other memory");
  return copy;
}

static CUresult copyAsync(const char *name, const char *direction, uintptr_t to, uintptr_t from, size_t bytes,
                          CUstream handle) {
  return call(name, kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, true);
    if (bytes == 0)
      return CUDA_SUCCESS;
    CopyCall copy = copyOf(call, direction, to, from, bytes);
    bool pageable = !copy.toMemory || !copy.fromMemory;
    call.trace(std::string("copy ") + direction + " " + std::to_string(bytes) +
               (pageable ? " pageable" : "") + (stream->capture ? " captured" : ""));
    if (!pageable || stream->capture) {
      give(call, stream, copyOperation(call, copy));
      return CUDA_SUCCESS;
    }
    // Pageable memory of the host: what is read is staged before the call returns, what is written is there
    // when it does.
    if (!copy.fromMemory) {
      give(call, stream, stagedOperation(copy));
      return CUDA_SUCCESS;
    }
    give(call, stream, copyOperation(call, copy));
    return call.machine.waitFor(call.lock, stream->last);
  });
}

// --- Boxes ---

// One side of a box of bytes.
struct BoxSide {
  uintptr_t at;
  size_t pitch, height;
  uintptr_t row(size_t slice, size_t number) const { return at + (slice * height + number) * pitch; }
};

static BoxSide boxSide(Call &call, const CUDA_MEMCPY3D &copy, const char *role, CUmemorytype type,
                       const BoxSide &side) {
  auto refuse = [&](const std::string &why, const char *what) {
    call.refuse(CUDA_ERROR_INVALID_VALUE, std::string(role) + ": " + why, what);
  };
  if (type != CU_MEMORYTYPE_DEVICE)
    call.refuse(CUDA_ERROR_NOT_SUPPORTED, std::string(role) + " is no memory of the device",
                "the stand-in copies boxes within a device alone");
  if (side.pitch < copy.WidthInBytes)
    refuse("its pitch of " + std::to_string(side.pitch) + " bytes is less than a row of " +
               std::to_string(copy.WidthInBytes),
           "rows may not overlap");
  if (copy.Depth > 1 && side.height < copy.Height)
    refuse("its height of " + std::to_string(side.height) + " rows is less than the " +
               std::to_string(copy.Height) + " of a slice",
           "slices may not overlap");
  return side;
}

static OperationRef boxOperation(Call &call, const CUDA_MEMCPY3D &copy) {
  if (copy.srcXInBytes || copy.srcY || copy.srcZ || copy.dstXInBytes || copy.dstY || copy.dstZ ||
      copy.srcLOD || copy.dstLOD)
    call.refuse(CUDA_ERROR_NOT_SUPPORTED, "the box begins inside of the arrays", "add that to the addresses");
  BoxSide from = boxSide(call, copy, "source", copy.srcMemoryType,
                         {uintptr_t(copy.srcDevice), copy.srcPitch, copy.srcHeight}),
          to = boxSide(call, copy, "destination", copy.dstMemoryType,
                       {uintptr_t(copy.dstDevice), copy.dstPitch, copy.dstHeight});
  auto operation = std::make_shared<Operation>();
  operation->kind = "copy";
  operation->what = std::string(call.name) + " of " + countOf(copy.Height * copy.Depth, "row") + " of " +
                    countOf(copy.WidthInBytes, "byte");
  auto touch = [&](const BoxSide &side, const char *role, bool writes) {
    uintptr_t end = side.row(copy.Depth - 1, copy.Height - 1) + copy.WidthInBytes;
    operation->uses.push_back(call.deviceMemory(side.at, end - side.at, role));
    for (size_t slice = 0; slice < copy.Depth; ++slice)
      for (size_t row = 0; row < copy.Height; ++row)
        operation->touched.push_back(
            {side.row(slice, row), side.row(slice, row) + copy.WidthInBytes, writes});
  };
  touch(from, "source", false);
  touch(to, "destination", true);
  std::vector<TouchedBytes> rows = operation->touched;
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i].begin < rows[i - 1].end && (rows[i].writes || rows[i - 1].writes))
      call.violation("source and destination overlap", "copy by way of other memory");
  operation->start = [copy, from, to]() -> Run {
    return [copy, from, to](Unit &) {
      for (size_t slice = 0; slice < copy.Depth; ++slice)
        for (size_t row = 0; row < copy.Height; ++row)
          memcpy(reinterpret_cast<char *>(to.row(slice, row)),
                 reinterpret_cast<const char *>(from.row(slice, row)), copy.WidthInBytes);
      return Progress::Done;
    };
  };
  return operation;
}

static CUresult copyBox(const char *name, const CUDA_MEMCPY3D *copy, CUstream handle) {
  return call(name, kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, true);
    if (!copy)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no box", "pass one");
    if (copy->WidthInBytes * copy->Height * copy->Depth == 0)
      return CUDA_SUCCESS;
    OperationRef operation = boxOperation(call, *copy);
    call.trace("copy-box " + std::to_string(copy->WidthInBytes) + " " + std::to_string(copy->Height) + " " +
               std::to_string(copy->Depth) + (stream->capture ? " captured" : ""));
    give(call, stream, std::move(operation));
    return CUDA_SUCCESS;
  });
}

// Without a stream: in the order of the legacy default stream, which blocking streams share and others do
// not.
static CUresult giveLegacy(Call &call, OperationRef operation, bool hostWaits) {
  Context &context = *call.context;
  context.last =
      call.machine.submit(context, context.lane, context.given, std::move(operation), legacyOrder(call));
  return hostWaits ? call.machine.waitFor(call.lock, context.last) : CUDA_SUCCESS;
}

static CUresult copyNow(const char *name, const char *direction, uintptr_t to, uintptr_t from, size_t bytes) {
  return call(name, kContext | kUncaptured, [&](Call &call) {
    if (bytes == 0)
      return CUDA_SUCCESS;
    CopyCall copy = copyOf(call, direction, to, from, bytes);
    call.trace(std::string("copy ") + direction + " " + std::to_string(bytes) + " now");
    // From pageable memory the call may return when the bytes are staged; within the device at once.
    if (!copy.fromMemory)
      return giveLegacy(call, stagedOperation(copy), false);
    return giveLegacy(call, copyOperation(call, copy), copy.direction != std::string("DtoD"));
  });
}

template <typename Value>
static OperationRef memsetOperation(Call &call, uintptr_t to, Value value, size_t count) {
  if (to % sizeof(Value))
    call.refuse(CUDA_ERROR_INVALID_VALUE, hex(to) + " is no multiple of " + std::to_string(sizeof(Value)),
                "align it");
  size_t bytes = count * sizeof(Value);
  auto operation = std::make_shared<Operation>();
  operation->kind = "memset";
  operation->what = std::string(call.name) + " of " + countOf(bytes, "byte");
  operation->uses.push_back(call.deviceMemory(to, bytes, "destination"));
  operation->touched.push_back({to, to + bytes, true});
  operation->start = [to, value, count]() -> Run {
    return [to, value, count](Unit &) {
      std::fill_n(reinterpret_cast<Value *>(to), count, value);
      return Progress::Done;
    };
  };
  return operation;
}

template <typename Value>
static CUresult memsetAsync(const char *name, CUdeviceptr to, Value value, size_t count, CUstream handle) {
  return call(name, kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, true);
    if (count == 0)
      return CUDA_SUCCESS;
    OperationRef operation = memsetOperation(call, uintptr_t(to), value, count);
    call.trace("memset " + std::to_string(count * sizeof(Value)) + (stream->capture ? " captured" : ""));
    give(call, stream, std::move(operation));
    return CUDA_SUCCESS;
  });
}

template <typename Value>
static CUresult memsetNow(const char *name, CUdeviceptr to, Value value, size_t count) {
  return call(name, kContext | kUncaptured, [&](Call &call) {
    if (count == 0)
      return CUDA_SUCCESS;
    call.trace("memset " + std::to_string(count * sizeof(Value)) + " now");
    return giveLegacy(call, memsetOperation(call, uintptr_t(to), value, count), false);
  });
}

static uintptr_t bits(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copyNow("cuMemcpyHtoD", "HtoD", to, bits(from), bytes);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copyNow("cuMemcpyDtoH", "DtoH", bits(to), from, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copyNow("cuMemcpyDtoD", "DtoD", to, from, bytes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copyAsync("cuMemcpyHtoDAsync", "HtoD", to, bits(from), bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync("cuMemcpyDtoHAsync", "DtoH", bits(to), from, bytes, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync("cuMemcpyDtoDAsync", "DtoD", to, from, bytes, stream);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  return copyBox("cuMemcpy3DAsync", copy, stream);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                           size_t bytes, CUstream stream) {
  CUresult known = call("cuMemcpyPeerAsync", kContext, [&](Call &call) {
    call.object(call.machine.contexts, toContext);
    call.object(call.machine.contexts, fromContext);
    return CUDA_SUCCESS;
  });
  return known ? known : copyAsync("cuMemcpyPeerAsync", "DtoD", to, from, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return memsetNow<uint8_t>("cuMemsetD8", to, value, count);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return memsetNow<uint32_t>("cuMemsetD32", to, value, count);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return memsetAsync<uint8_t>("cuMemsetD8Async", to, value, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return memsetAsync<uint16_t>("cuMemsetD16Async", to, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return memsetAsync<uint32_t>("cuMemsetD32Async", to, value, count, stream);
}

} // extern "C"
} // namespace tessera::cuda
