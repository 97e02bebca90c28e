// What an access may touch: the slow side of the check that Instrument.cpp puts before every access.
#include "Functions.h"

#include <cstdio>

namespace standin {

static std::string hexadecimal(uintptr_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The range of an access within a variable of the image. What is written there stays from launch to launch:
// to whoever looks at their order it is memory like any other.
static std::optional<MemoryRange> rangeOfGlobal(const Thread &thread, const DeviceGlobal &global,
                                                uintptr_t address, uint64_t bytes, bool writes) {
  if (const MemoryMap *memory = global.constant ? nullptr : thread.owner()->launch->request->memory)
    if (std::optional<MemoryRange> range = memory->access(address, bytes, writes))
      return range;
  uintptr_t begin = reinterpret_cast<uintptr_t>(global.address);
  return MemoryRange{begin, begin + global.bytes, !global.constant};
}

// The range around `address` that the thread may touch, if any; `why` else.
static std::optional<MemoryRange> rangeOf(Thread &thread, uintptr_t address, uint64_t bytes, const Site &site,
                                          std::string &why) {
  Block &block = *thread.owner();
  uintptr_t shared = reinterpret_cast<uintptr_t>(block.shared),
            dynamic = reinterpret_cast<uintptr_t>(block.dynamic);
  if (site.objectBytes) { // the code says which variable
    uintptr_t begin = shared + site.objectOffset, end = begin + site.objectBytes;
    if (address >= begin && address < end && bytes <= end - address)
      return MemoryRange{begin, end, true};
    why = "it is at byte " + std::to_string(intptr_t(address - begin)) + " of a shared variable of " +
          std::to_string(site.objectBytes) + " bytes";
    return std::nullopt;
  }
  uintptr_t sharedEnd = dynamic + block.dynamicBytes;
  if (address >= shared && address < sharedEnd + 1024) {
    bool inDynamic = address >= dynamic;
    uintptr_t begin = inDynamic ? dynamic : shared, end = inDynamic ? sharedEnd : shared + block.staticBytes;
    if (address < end && bytes <= end - address)
      return MemoryRange{begin, end, true};
    why = "it is at byte " + std::to_string(address - begin) + " of " + std::to_string(end - begin) +
          " bytes of " + (inDynamic ? "dynamic" : "static") + " shared memory";
    return std::nullopt;
  }
  const Image &image = *block.launch->request->kernel->image;
  for (const DeviceGlobal &global : image.globals()) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(global.address), end = begin + global.bytes;
    if (address < begin || address >= end)
      continue;
    if (bytes <= end - address)
      return rangeOfGlobal(thread, global, address, bytes, site.flags & kWrite);
    why = "it is at byte " + std::to_string(address - begin) + " of @" + global.name + ", which has " +
          std::to_string(global.bytes);
    return std::nullopt;
  }
  if (thread.stack) { // local variables, whose address went somewhere
    uintptr_t begin = reinterpret_cast<uintptr_t>(thread.stack->memory), end = begin + Stacks::kBytes;
    if (address >= begin && address < end)
      return MemoryRange{begin, end, true};
  }
  const void *parameters = block.launch->request->parameters;
  uintptr_t begin = reinterpret_cast<uintptr_t>(parameters);
  if (address - begin < block.launch->request->kernel->parameterBytes)
    return MemoryRange{begin, begin + block.launch->request->kernel->parameterBytes, false};
  if (address < 4096) {
    why = "it is a null pointer";
    return std::nullopt;
  }
  const MemoryMap *memory = block.launch->request->memory;
  if (memory)
    if (std::optional<MemoryRange> range = memory->access(address, bytes, site.flags & kWrite)) {
      if (bytes <= range->end - address)
        return range;
      why = "only " + std::to_string(range->end - address) + " bytes are left of an allocation of " +
            std::to_string(range->end - range->begin);
      return std::nullopt;
    }
  why = memory ? memory->explain(address, bytes) : "there is no device memory";
  return std::nullopt;
}

static std::string accessText(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t site) {
  return "(" + whereIs(thread) + "): " + textOf(*thread.owner(), site) + " touches " + std::to_string(bytes) +
         " bytes at " + hexadecimal(address);
}

static MemoryRange checked(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t align, uint32_t flags,
                           uint32_t site) {
  std::string why;
  std::optional<MemoryRange> range =
      rangeOf(thread, address, bytes, thread.owner()->launch->sites[site], why);
  if (range && flags & kWrite && !range->writable) {
    why = "it may only be read";
    range.reset();
  }
  if (!range)
    fail(thread, Finding::Kind::IllegalAddress,
         "access out of bounds " + accessText(thread, address, bytes, site) + ", but " + why);
  if (address & (align - 1))
    fail(thread, Finding::Kind::Misaligned,
         "misaligned access " + accessText(thread, address, bytes, site) + ", which is no multiple of " +
             std::to_string(align));
  return *range;
}

void checkAccess(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t align, uint32_t flags,
                 uint32_t site) {
  checked(thread, address, bytes, align, flags, site);
}

extern "C" {
void standin_access(Thread *thread, uintptr_t address, uint32_t number) {
  const Site &site = thread->owner()->launch->sites[number];
  MemoryRange range = checked(*thread, address, site.bytes, site.align, site.flags, number);
  thread->owner()->ranges[number] = {range.begin, range.end - range.begin - site.bytes};
}

void standin_access_bytes(Thread *thread, uintptr_t address, uint64_t bytes, uint32_t number) {
  const Site &site = thread->owner()->launch->sites[number];
  if (bytes)
    checked(*thread, address, bytes, site.align, site.flags, number);
}

void standin_turn(Thread *thread) { giveTurn(*thread); }

uint32_t standin_is_shared(Thread *thread, uintptr_t address) {
  const Block &block = *thread->owner();
  return address >= reinterpret_cast<uintptr_t>(block.shared) &&
         address < reinterpret_cast<uintptr_t>(block.dynamic) + block.dynamicBytes;
}

uint32_t standin_is_local(Thread *thread, uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(thread->stack->memory) < Stacks::kBytes;
}
}

} // namespace standin
