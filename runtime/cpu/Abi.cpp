// abi.h for the CPU. Generated code stands above these functions: errors end the run here instead of
// unwinding through it.
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cpu/Rank.h"

#include <algorithm>
#include <cstring>

using namespace tessera::runtime;

template <typename F> static void guarded(F &&f) {
  try {
    f();
  } catch (const std::exception &e) {
    endRun(messageOf(e));
  }
}

extern "C" {

void ts_launch(ts_rank *handle, int32_t kernel, void *const *buffers, const int64_t *scalars, int64_t count,
               int64_t grain) {
  Rank &rank = Rank::of(handle);
  ts_kernel_fn fn = rank.kernel(kernel);
  rank.progress();
  int64_t parts = std::min<int64_t>(rank.pool().size(), count / std::max<int64_t>(grain, 1));
  if (parts <= 1) {
    fn(buffers, scalars, 0, count);
    return;
  }
  rank.pool().parallel(int(parts), [&](int part) {
    Range range = splitRange(count, parts, part);
    fn(buffers, scalars, range.begin, range.end);
  });
}

void ts_matmul(ts_rank *handle, int32_t id, int64_t layer, const void *x, const void *w, void *y) {
  Rank &rank = Rank::of(handle);
  rank.progress();
  const float *weights =
      w ? static_cast<const float *>(w) : rank.weights(rank.manifest().matmuls[id].param, layer);
  guarded([&] { rank.gemm(id).run(static_cast<const float *>(x), weights, static_cast<float *>(y)); });
}

void ts_gather_packed(ts_rank *handle, int32_t param, int64_t layer, const int32_t *ids, int64_t base,
                      int64_t rows, float *out) {
  Rank &rank = Rank::of(handle);
  rank.progress();
  const PackedLayout &layout = *rank.plan().param(param).packed;
  const float *weights = rank.weights(param, layer);
  int64_t parts = std::min<int64_t>(rank.pool().size(), std::max<int64_t>(rows * layout.k / 8192, 1));
  rank.pool().parallel(int(parts), [&](int part) {
    Range range = splitRange(rows, parts, part);
    for (int64_t i = range.begin; i < range.end; ++i) {
      int64_t row = ids[i] - base;
      if (row >= 0 && row < layout.n)
        layout.unpackRow(row, weights, out + i * layout.k);
      else
        std::fill_n(out + i * layout.k, layout.k, 0.0f);
    }
  });
}

void ts_collective(ts_rank *handle, int32_t id, const void *src, void *dst) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.comm().run(id, src, dst); });
}

int64_t ts_group_index(ts_rank *handle, int32_t group) { return Rank::of(handle).groupIndex(group); }

void ts_copy(ts_rank *handle, void *dst, const void *src, int64_t bytes) {
  Rank &rank = Rank::of(handle);
  rank.progress();
  int64_t parts = std::min<int64_t>(rank.pool().size(), 1 + bytes / (256 << 10));
  rank.pool().parallel(int(parts), [&](int part) {
    Range range = splitRange(bytes, parts, part);
    memcpy(static_cast<char *>(dst) + range.begin, static_cast<const char *>(src) + range.begin,
           size_t(range.end - range.begin));
  });
}
}
