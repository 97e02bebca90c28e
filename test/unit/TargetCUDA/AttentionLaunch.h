// An attention kernel of the CUDA target, compiled as llm-compile does, run by the engine of the stand-in and
// compared with a reference in float64.
#ifndef TESSERA_TEST_UNIT_TARGETCUDA_ATTENTIONLAUNCH_H
#define TESSERA_TEST_UNIT_TARGETCUDA_ATTENTIONLAUNCH_H

#include "AttentionReference.h"
#include "DeviceHarness.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace tessera::test {

enum class Kind { F32, BF16, F16 };

inline float rounded(float x, Kind kind) {
  if (kind == Kind::F16)
    return float(_Float16(x));
  if (kind == Kind::F32)
    return x;
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// An array of one kind, aligned as the arena aligns it.
class Array {
public:
  Array(size_t size, Kind kind) : size(size), kind(kind) {
    memory = static_cast<char *>(std::aligned_alloc(64, (bytes() + 63) / 64 * 64));
    std::memset(memory, 0x7f, bytes());
  }
  Array(const Array &) = delete;
  ~Array() { std::free(memory); }
  size_t elementBytes() const { return kind == Kind::F32 ? 4 : 2; }
  size_t bytes() const { return size * elementBytes(); }
  float get(size_t i) const {
    if (kind == Kind::F32)
      return reinterpret_cast<const float *>(memory)[i];
    if (kind == Kind::F16)
      return float(reinterpret_cast<const _Float16 *>(memory)[i]);
    uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(memory)[i]) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  }
  std::vector<float> floats() const {
    std::vector<float> values(size);
    for (size_t i = 0; i < size; ++i)
      values[i] = get(i);
    return values;
  }
  void set(size_t i, float x) {
    x = rounded(x, kind);
    if (kind == Kind::F32)
      reinterpret_cast<float *>(memory)[i] = x;
    else if (kind == Kind::F16)
      reinterpret_cast<_Float16 *>(memory)[i] = _Float16(x);
    else
      std::memcpy(memory + 2 * i, reinterpret_cast<char *>(&x) + 2, 2);
  }
  void fill(unsigned seed, float low, float high) {
    std::mt19937 generator(seed);
    for (size_t i = 0; i < size; ++i)
      set(i, low + (high - low) * float(generator() >> 8) / float(1 << 24));
  }

  size_t size;
  Kind kind;
  char *memory;
};

struct Case {
  const char *name;
  AttentionShape shape;
  Kind kind = Kind::F32;
  int64_t firstPosition = 0; ///< see AttentionPositions
  int64_t base = 0;
  int64_t inertFrom = -1; ///< rows from here on are padding
  Kind keyKind = kind;
  bool warpgroups = false;
};

inline AttentionShape inPages(AttentionShape shape, int64_t page) {
  shape.page = page;
  return shape;
}

inline void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

inline mlir::Type typeOf(Kind kind, mlir::OpBuilder b) {
  return kind == Kind::F32    ? mlir::Type(b.getF32Type())
         : kind == Kind::BF16 ? mlir::Type(b.getBF16Type())
                              : mlir::Type(b.getF16Type());
}

struct Compiled {
  AttentionTiling tiling;
  DeviceKernels kernels;
};

inline Compiled compile(const Case &c) {
  AttentionTiling tiling;
  DeviceKernels kernels = DeviceKernels::compile([&](mlir::ModuleOp module) {
    mlir::OpBuilder builder(module.getBodyRegion());
    AttentionShape s = c.shape;
    s.elementType = typeOf(c.kind, builder);
    s.keyType = typeOf(c.keyKind, builder);
    tiling = *(c.warpgroups ? tileWarpgroupAttention(s) : tileAttention(s));
    module.push_back(
        buildCUDAAttentionKernel(module.getLoc(), "attention", s, tiling, attentionScratch(s, tiling)));
  });
  EXPECT_EQ(kernels.error, "");
  return {tiling, std::move(kernels)};
}

/// The arrays of a launch and what should come out.
class Launch {
public:
  Launch(const Case &c, const AttentionTiling &tiling)
      : c(c), s(this->c.shape), blocks(tiling.blocks), layers(s.layers.value_or(1)),
        q(s.batch * s.seq * s.kvHeads * s.group * s.headDim, c.kind),
        k(layers * s.batch * s.context * s.kvHeads * s.headDim, c.keyKind),
        v(layers * s.batch * s.context * s.kvHeads * s.valueDim, c.keyKind),
        out(s.batch * s.seq * s.kvHeads * s.group * s.valueDim, c.kind),
        lse(out.size / s.valueDim, Kind::F32), scratch(attentionScratch(s, tiling), Kind::F32),
        positions(s, c.firstPosition, c.base, c.inertFrom),
        table(s.page ? s.batch * (s.context / s.page) : 0) {
    q.fill(1, -3, 3);
    k.fill(2, -1, 1);
    v.fill(3, -1, 1);
    int64_t layer = layers - 1;
    expected =
        attentionReference(s, positions, q.floats().data(), k.floats().data(), v.floats().data(), layer);
    // They are no numbers.
    auto hide = [&](int64_t row) {
      for (int64_t i = 0; i < s.headDim; ++i)
        k.set(row * s.headDim + i, NAN);
      for (int64_t i = 0; i < s.valueDim; ++i)
        v.set(row * s.valueDim + i, NAN);
    };
    forUnseenKeys(s, positions, layer, hide);
    hideBeforeWindows(tiling.keys, layer, hide);
    if (s.page)
      movePages();
    buffers = {memory.add(q.memory, q.bytes(), false), memory.add(k.memory, k.bytes(), false),
               memory.add(v.memory, v.bytes(), false),
               memory.add(positions.rows.data(), positions.rows.size() * 4, false)};
    if (s.page)
      buffers.push_back(memory.add(table.data(), table.size() * 4, false));
    buffers.push_back(memory.add(out.memory, out.bytes(), true));
    if (s.logSumExp)
      buffers.push_back(memory.add(lse.memory, lse.bytes(), true));
    if (scratch.size)
      buffers.push_back(memory.add(scratch.memory, scratch.bytes(), true));
    if (s.layers)
      scalars.push_back(layer);
    scalars.push_back(c.base);
  }

  /// The finding of the engine, or of the comparison; nothing where all is well.
  std::string run(const DeviceKernels &kernels, uint64_t seed, bool races) {
    std::memset(out.memory, 0x7f, out.bytes());
    std::memset(lse.memory, 0x7f, lse.bytes());
    std::string finding = kernels.run("attention", buffers, scalars, blocks, memory, seed, races);
    return finding.empty() ? compare() : finding;
  }

  /// The finding of the engine where every entry of the table is `entry`. What comes out is anything, too.
  std::string runWithTable(const DeviceKernels &kernels, int32_t entry) {
    std::fill(table.begin(), table.end(), entry);
    return kernels.run("attention", buffers, scalars, blocks, memory, /*seed=*/1, /*races=*/false);
  }

private:
  /// Keys that no row of a batch sees any more: they are read by tiles, so whole tiles of them must not be.
  void hideBeforeWindows(int64_t keys, int64_t layer, llvm::function_ref<void(int64_t)> hide) const {
    for (int64_t batch = 0; s.window && batch < s.batch; ++batch) {
      int64_t least = INT32_MAX;
      for (int64_t i = 0; i < s.seq; ++i)
        if (int64_t at = positions.rows[batch * s.seq + i]; at >= 0)
          least = std::min(least, at);
      int64_t first = std::clamp<int64_t>(least - *s.window - positions.base + 1, 0, s.context);
      for (int64_t row = 0; row < first / keys * keys * s.kvHeads; ++row)
        hide((layer * s.batch + batch) * s.context * s.kvHeads + row);
    }
  }

  /// Puts pages of a row at others' places, a table of its own for each row of the batch. No two neighbours
  /// move alike: a kernel that took one's entry for the other's would find both.
  void movePages() {
    int64_t count = s.context / s.page;
    std::mt19937 generator(11);
    for (int64_t row = 0; row < s.batch; ++row) {
      std::vector<int64_t> places(static_cast<size_t>(count));
      std::iota(places.begin(), places.end(), 0);
      auto follows = [](int64_t place, int64_t next) { return next == place + 1; };
      do
        std::shuffle(places.begin(), places.end(), generator);
      while (std::adjacent_find(places.begin(), places.end(), follows) != places.end());
      for (int64_t page = 0; page < count; ++page)
        table[size_t(row * count + page)] = int32_t(places[size_t(page)] - page);
    }
    for (auto [array, width] : {std::pair(&k, s.headDim), std::pair(&v, s.valueDim)}) {
      size_t bytes = size_t(s.page * s.kvHeads * width) * array->elementBytes();
      std::string before(array->memory, array->bytes());
      for (int64_t layer = 0; layer < layers; ++layer)
        for (int64_t entry = 0; entry < int64_t(table.size()); ++entry) {
          size_t from = size_t(layer) * table.size() + size_t(entry);
          std::memcpy(array->memory + (int64_t(from) + table[size_t(entry)]) * int64_t(bytes),
                      before.data() + from * bytes, bytes);
        }
    }
  }

  std::string compare() const {
    // Sums are of float32, weights of the second product of the elements' type.
    double bound = c.kind == Kind::F32 ? 3e-6 : c.kind == Kind::F16 ? 1e-3 : 8e-3;
    auto differs = [](const char *what, size_t i, double is, double should) {
      return llvm::formatv("{0} {1} is {2}, not {3}", what, i, is, should).str();
    };
    for (size_t i = 0; i < expected.out.size(); ++i) {
      double is = out.get(i), should = expected.out[i];
      if (should == 0 ? is != 0 : !(std::fabs(is - should) < bound))
        return differs("result", i, is, should);
    }
    bound = c.kind == Kind::F32 ? 5e-6 : 5e-4;
    for (size_t i = 0; i < expected.logSumExp.size() && s.logSumExp; ++i) {
      double is = lse.get(i), should = expected.logSumExp[i];
      if (std::isinf(should) ? is != should : !(std::fabs(is - should) < bound))
        return differs("log-sum-exp", i, is, should);
    }
    return "";
  }

  const Case c;
  const AttentionShape &s;
  int64_t blocks, layers;
  Array q, k, v, out, lse, scratch;
  AttentionPositions positions;
  std::vector<int32_t> table; ///< of pages
  AttentionResults expected;
  DeviceMemory memory;
  std::vector<const void *> buffers;
  std::vector<int64_t> scalars;
};

/// In order, and in an order of its own with the search for races.
inline void expectReference(const Case &c) {
  Compiled compiled = compile(c);
  Launch launch(c, compiled.tiling);
  EXPECT_EQ(launch.run(compiled.kernels, 1, /*races=*/false), "");
  EXPECT_EQ(launch.run(compiled.kernels, 2, /*races=*/true), "");
}

/// Each barrier, wait, fence and end of a group taken away is found, or it would not be needed; there are
/// `atLeast`.
inline void expectEverySynchronization(const Case &c, size_t atLeast) {
  // Results take the place of the tiles: which of them the last one was depends on the length.
  Case shorter = c;
  shorter.firstPosition = 0;
  Compiled compiled = compile(c);
  Launch launch(c, compiled.tiling), other(shorter, compiled.tiling);
  std::vector<std::string> all = compiled.kernels.synchronizations();
  EXPECT_GE(all.size(), atLeast);
  for (size_t i = 0; i < all.size(); ++i) {
    DeviceKernels broken = compiled.kernels.without(i);
    std::string finding;
    for (uint64_t seed = 1; seed <= 10 && finding.empty(); ++seed)
      if (finding = launch.run(broken, seed, /*races=*/true); finding.empty())
        finding = other.run(broken, seed, /*races=*/true);
    EXPECT_NE(finding, "") << c.name << " without " << all[i] << ", number " << i;
    if (getenv("TESSERA_TEST_VERBOSE"))
      printf("%s without %s: %s\n", c.name, all[i].c_str(), finding.c_str());
  }
}

} // namespace tessera::test

#endif
