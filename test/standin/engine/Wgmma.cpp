#include "Wgmma.h"
#include "Functions.h"
#include "Numbers.h"
#include "Races.h"

#include <cstring>

namespace standin {
namespace {

using WarpState = Warpgroups::WarpState;
using Operation = Warpgroups::Operation;

struct Operands {
  const uint32_t *in; // the sums, then A where it is in registers
  uint32_t *out;
  uint64_t a, b;
  uint32_t adds;
};

[[noreturn]] void wrong(Thread &thread, Finding::Kind kind, const std::string &what,
                        const std::string &rest) {
  fail(thread, kind, what + " (" + whereIs(thread) + "): " + rest);
}

WarpState &stateOf(Thread &thread) {
  Block &block = *thread.owner();
  if (!block.warpgroups)
    block.warpgroups = std::make_unique<Warpgroups>();
  return block.warpgroups->warps[thread.warp];
}

// Goes on as the one lane that acts for its warp, when all have come.
bool meetWarp(Thread &thread, uint32_t site, void *operands) {
  Block &block = *thread.owner();
  uint32_t group = thread.warp / kWarpsOfGroup;
  if ((group + 1) * kWarpsOfGroup * kWarp > block.threadCount)
    wrong(thread, Finding::Kind::Synchronization, "a warpgroup of fewer than 4 warps", textOf(block, site));
  return meet(thread, ~0u, WarpOp::Warpgroup, true, site, operands);
}

// Notes what the warp does, and compares it with what the other warps of its group did as their step.
void step(Thread &thread, uint32_t site, uint64_t what) {
  Block &block = *thread.owner();
  stateOf(thread);
  Warpgroups::Group &group = block.warpgroups->groups[thread.warp / kWarpsOfGroup];
  uint64_t number = group.done[thread.warp % kWarpsOfGroup]++ - group.dropped;
  if (number == group.steps.size())
    group.steps.push_back({site, what});
  const Warpgroups::Step &others = group.steps[number];
  if (others.site != site)
    wrong(thread, Finding::Kind::Synchronization, "the warps of a warpgroup part",
          std::string(textOf(block, site)) + ", another one is at " + textOf(block, others.site));
  if (others.what != what)
    wrong(thread, Finding::Kind::Synchronization, "the warps of a warpgroup give different operands",
          textOf(block, site));
  uint64_t least = *std::min_element(group.done, group.done + kWarpsOfGroup);
  for (; group.dropped < least; ++group.dropped)
    group.steps.pop_front();
}

// Shared memory
// -----------------------------------------------------------------------------------------------------------

// Every 16 bytes of a matrix: `visit(row, k, pointer)` for 8 elements from there on.
template <typename Visit>
void forChunks(Block &block, const WgmmaDescriptor &matrix, bool across, uint32_t firstRow, uint32_t rows,
               Visit visit) {
  uintptr_t shared = reinterpret_cast<uintptr_t>(block.shared);
  for (uint32_t row = firstRow; row < firstRow + rows; row += across ? 8 : 1)
    for (uint32_t k = 0; k < 16; k += across ? 1 : 8)
      visit(row - firstRow, k, shared + ((matrix.addressOf(across, row, k) - shared) & 0x3ffff));
}

// What lies in a matrix now: [row][k]. Checked as it is read: by the lane that acts for the warp.
std::vector<uint16_t> readMatrix(Thread &thread, const WgmmaDescriptor &matrix, bool across,
                                 uint32_t firstRow, uint32_t rows, uint32_t site, bool begins) {
  Block &block = *thread.owner();
  Thread &reader = block.lane(block.warps[thread.warp], 0);
  std::vector<uint16_t> elements(rows * 16);
  forChunks(block, matrix, across, firstRow, rows, [&](uint32_t row, uint32_t k, uintptr_t at) {
    checkAccess(reader, at, 16, 16, kRead, site);
    if (block.races) {
      block.races->access(reader, at, 16, kRead, site);
      if (begins)
        block.races->readByAsyncProxy(reader, at, 16, site);
    }
    uint16_t eight[8];
    std::memcpy(eight, reinterpret_cast<const void *>(at), 16);
    for (uint32_t i = 0; i < 8; ++i)
      elements[across ? (row + i) * 16 + k : row * 16 + k + i] = eight[i];
  });
  return elements;
}

// Registers
// ---------------------------------------------------------------------------------------------------------------

bool namesResult(uint32_t word) { return (word & ~Warpgroups::kNumbers) == Warpgroups::kName; }

// The number of the result that a word names; a finding if it is long forgotten.
uint64_t numberOf(Thread &thread, const WarpState &warp, uint32_t word, uint32_t site) {
  uint64_t number = warp.next - ((warp.next - word) & Warpgroups::kNumbers);
  if (number >= warp.next || number + Warpgroups::kKept < warp.next)
    wrong(thread, Finding::Kind::Synchronization, "a sum of wgmma that is none any more",
          textOf(*thread.owner(), site));
  return number;
}

const char *siteOfResult(const Block &block, const WarpState &warp, uint64_t number) {
  auto among = [&](const std::vector<Operation> &all) -> const Operation * {
    for (const Operation &one : all)
      if (number >= one.first && number < one.first + one.shape.sums())
        return &one;
    return nullptr;
  };
  const Operation *found = among(warp.open);
  for (const std::vector<Operation> &group : warp.groups)
    found = found ? found : among(group);
  return found ? textOf(block, found->site) : "wgmma";
}

uint32_t &resultAt(WarpState &warp, uint64_t number, uint32_t lane) {
  return warp.results[number % Warpgroups::kKept * kWarp + lane];
}

float valueOf(uint16_t bits, Element type) {
  return type == Element::F16 ? halfToFloat(bits) : fromBits(uint32_t(bits) << 16);
}

// Carries an operation out, with what lies in shared memory by now.
void land(Thread &thread, WarpState &warp, const Operation &operation) {
  const WgmmaShape &shape = operation.shape;
  uint32_t row0 = thread.warp % kWarpsOfGroup * 16, n = shape.n;
  std::vector<uint16_t> b = readMatrix(thread, operation.b, shape.acrossB, 0, n, operation.site, false),
                        a(256);
  if (shape.registersA) {
    for (uint32_t lane = 0; lane < kWarp; ++lane)
      for (uint32_t i = 0; i < 8; ++i) // word i / 2: rows lane / 4 and 8 further, then 8 further along k
        a[(lane / 4 + 8 * (i / 2 & 1)) * 16 + lane % 4 * 2 + i % 2 + i / 4 * 8] =
            uint16_t(operation.words[lane][i / 2] >> (i % 2 * 16));
  } else {
    a = readMatrix(thread, operation.a, shape.acrossA, row0, 16, operation.site, false);
  }
  if (b != operation.inB || (!shape.registersA && a != operation.inA))
    wrong(thread, Finding::Kind::Race, "shared memory changes while wgmma reads it",
          textOf(*thread.owner(), operation.site));
  float sign = shape.negateA != shape.negateB ? -1.0f : 1.0f;
  std::vector<float> left(256), right(n * 16);
  for (uint32_t i = 0; i < 256; ++i)
    left[i] = sign * valueOf(a[i], shape.type);
  for (uint32_t i = 0; i < n * 16; ++i)
    right[i] = valueOf(b[i], shape.type);
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    for (uint32_t i = 0; i < shape.sums(); ++i) {
      uint32_t row = lane / 4 + 8 * (i / 2 & 1), column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      uint32_t given = operation.sums[i * kWarp + lane];
      if (operation.adds && namesResult(given))
        given = resultAt(warp, numberOf(thread, warp, given, operation.site), lane);
      float sum = operation.adds ? fromBits(given) : 0;
      for (uint32_t k = 0; k < 16; ++k)
        sum += left[row * 16 + k] * right[column * 16 + k];
      resultAt(warp, operation.first + i, lane) = toBits(sum);
    }
  warp.landed = operation.first + shape.sums();
}

} // namespace

// Descriptors
// -------------------------------------------------------------------------------------------------------------

WgmmaDescriptor::WgmmaDescriptor(uint64_t bits) {
  auto encoded = [&](unsigned at) { return uint32_t(bits >> at & 0x3fff) << 4; };
  start = encoded(0);
  leading = encoded(16);
  stride = encoded(32);
  base = bits >> 49 & 7;
  mode = uint32_t(bits >> 62);
  reserved = bits & (uint64_t(3) << 14 | uint64_t(3) << 30 | uint64_t(7) << 46 | uint64_t(0x3ff) << 52);
}

std::string WgmmaDescriptor::fault(bool across, uint32_t rows) const {
  uint32_t chunks = chunksOfPattern(), pattern = chunks * 128;
  if (reserved)
    return "its descriptor has bits that have to be 0";
  if (base)
    return "its descriptor has a base offset, which the stand-in lacks";
  if (mode == 0)
    return "";
  if (start / 128 % chunks)
    return "a tile swizzled by " + std::to_string(16 * chunks) + " bytes begins at byte " +
           std::to_string(start) + " of 2^18, no multiple of " + std::to_string(pattern);
  if (stride % pattern || (across && rows > 8 * chunks && leading % pattern))
    return "its strides are no multiples of the swizzle's " + std::to_string(pattern) + " bytes";
  return "";
}

uint32_t WgmmaDescriptor::addressOf(bool across, uint32_t row, uint32_t k) const {
  uint32_t chunks = chunksOfPattern(), at = start;
  if (across) { // 16 bytes are 8 rows
    uint32_t group = row / 8;
    at += k % 8 * chunks * 16;
    if (mode == 0)
      at += group * stride + k / 8 * leading;
    else
      at += group % chunks * 16 + group / chunks * leading + k / 8 * stride;
  } else {
    at += row % 8 * chunks * 16 + row / 8 * stride + k / 8 * (mode == 0 ? leading : 16);
  }
  return at ^ (at >> 7 & (chunks - 1)) << 4;
}

void checkWarpgroups(Thread &thread) {
  Block &block = *thread.owner();
  for (const Warpgroups::Group &group : block.warpgroups->groups)
    if (!group.steps.empty())
      wrong(thread, Finding::Kind::Synchronization, "a warp of a warpgroup has ended without the others",
            std::string("they were at ") + textOf(block, group.steps.front().site));
}

extern "C" {
void standin_wgmma(Thread *thread, const uint32_t *in, uint32_t *out, uint64_t a, uint64_t b, uint32_t adds,
                   uint32_t packed, uint32_t site) {
  Operands own = {in, out, a, b, adds};
  if (!meetWarp(*thread, site, &own))
    return;
  Block &block = *thread->owner();
  Warp &warp = block.warps[thread->warp];
  WarpState &state = stateOf(*thread);
  Operation made{site,
                 WgmmaShape::unpack(packed),
                 WgmmaDescriptor(a),
                 WgmmaDescriptor(b),
                 adds != 0,
                 state.next,
                 {},
                 {},
                 {},
                 {}};
  const WgmmaShape &shape = made.shape;
  uint32_t count = shape.sums();
  step(*thread, site, b * 3 + (shape.registersA ? 0 : a * 5) + (adds != 0));
  if (state.results.empty()) {
    state.results.resize(size_t(Warpgroups::kKept) * kWarp);
    state.columns.resize(Warpgroups::kKept);
  }
  made.sums.resize(count * kWarp);
  bool touched = shape.registersA; // registers that only a fence hands over
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    Thread &one = block.lane(warp, lane);
    const Operands &given = *static_cast<Operands *>(one.operands);
    if (given.b != b || given.adds != adds || (!shape.registersA && given.a != a))
      wrong(one, Finding::Kind::Synchronization, "the lanes of a warp give different operands",
            textOf(block, site));
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t word = given.in[i];
      made.sums[i * kWarp + lane] = word;
      touched |= !namesResult(word) ||
                 state.columns[numberOf(one, state, word, site) % Warpgroups::kKept] != shape.n;
      given.out[i] = Warpgroups::kName | uint32_t((state.next + i) & Warpgroups::kNumbers);
    }
    if (shape.registersA)
      std::memcpy(made.words[lane], given.in + count, sizeof(made.words[lane]));
  }
  if (touched && !state.fenced)
    wrong(*thread, Finding::Kind::Synchronization, "wgmma is given registers without a wgmma.fence",
          textOf(block, site));
  if (std::string fault = made.b.fault(shape.acrossB, shape.n); !fault.empty())
    wrong(*thread, Finding::Kind::Misaligned, "a bad matrix B of wgmma",
          fault + ", at " + textOf(block, site));
  made.inB = readMatrix(*thread, made.b, shape.acrossB, 0, shape.n, site, true);
  if (!shape.registersA) {
    if (std::string fault = made.a.fault(shape.acrossA, 64); !fault.empty())
      wrong(*thread, Finding::Kind::Misaligned, "a bad matrix A of wgmma",
            fault + ", at " + textOf(block, site));
    made.inA = readMatrix(*thread, made.a, shape.acrossA, thread->warp % kWarpsOfGroup * 16, 16, site, true);
  }
  for (uint32_t i = 0; i < count; ++i)
    state.columns[(state.next + i) % Warpgroups::kKept] = shape.n;
  state.next += count;
  state.open.push_back(std::move(made));
  release(*thread, ~0u);
}

void standin_wgmma_fence(Thread *thread, uint32_t site) {
  if (!meetWarp(*thread, site, nullptr))
    return;
  step(*thread, site, 0);
  stateOf(*thread).fenced = true;
  release(*thread, ~0u);
}

void standin_wgmma_commit(Thread *thread, uint32_t site) {
  if (!meetWarp(*thread, site, nullptr))
    return;
  step(*thread, site, 0);
  WarpState &state = stateOf(*thread);
  state.groups.push_back(std::move(state.open));
  state.open.clear();
  release(*thread, ~0u);
}

void standin_wgmma_wait(Thread *thread, uint64_t pending, uint32_t site) {
  if (!meetWarp(*thread, site, nullptr))
    return;
  step(*thread, site, pending);
  WarpState &state = stateOf(*thread);
  while (state.groups.size() > pending) {
    std::vector<Operation> group = std::move(state.groups.front());
    state.groups.pop_front();
    for (const Operation &operation : group)
      land(*thread, state, operation);
  }
  release(*thread, ~0u);
}

// What an empty asm takes in and gives out: registers that code touches.
void standin_registers(Thread *thread, uint32_t *words, uint32_t count, uint32_t site) {
  Block &block = *thread->owner();
  if (!block.warpgroups)
    return;
  WarpState &state = block.warpgroups->warps[thread->warp];
  state.fenced = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (!namesResult(words[i]))
      continue;
    uint64_t number = numberOf(*thread, state, words[i], site);
    if (number >= state.landed)
      wrong(*thread, Finding::Kind::Race, "wgmma is not waited for",
            std::string(siteOfResult(block, state, number)) + " has not landed at " + textOf(block, site));
    words[i] = resultAt(state, number, thread->lane);
  }
}

void standin_proxy_fence(Thread *thread) {
  if (Races *races = thread->owner()->races)
    races->proxyFence(*thread);
}
}

} // namespace standin
