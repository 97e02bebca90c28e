// abi.h: what generated code asks of its rank goes to the streams of its device. Generated code stands above
// these functions: errors end the run here instead of unwinding through it.
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Rank.h"

using namespace tessera::runtime;

template <typename F> static void guarded(F &&f) {
  try {
    f();
  } catch (const std::exception &e) {
    endRun(messageOf(e));
  }
}

namespace {
// A collective in the order of the compute stream.
class CollectiveTask final : public StreamTask {
public:
  CollectiveTask(Rank &rank, int32_t id, const void *src, void *dst)
      : rank_(rank), id_(id), src_(src), dst_(dst) {}
  bool advance(bool mayBlock) override {
    rank_.comm().run(id_, rank_.device().view(src_), rank_.device().view(dst_));
    return true;
  }
  std::string name() const override { return "collective " + std::to_string(id_); }

private:
  Rank &rank_;
  int32_t id_;
  const void *src_;
  void *dst_;
};
} // namespace

extern "C" {

void ts_launch(ts_rank *handle, int32_t kernel, void *const *buffers, const int64_t *scalars, int64_t count,
               int64_t grain) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.compute().launch(rank.module(), {kernel, buffers, scalars, count, grain}); });
}

void ts_matmul(ts_rank *handle, int32_t id, int64_t layer, const void *x, const void *w, void *y) {
  Rank &rank = Rank::of(handle);
  const void *weights = w ? w : rank.weights(rank.manifest().matmuls[id].param, layer);
  guarded([&] { rank.compute().multiply(rank.product(id), x, weights, y); });
}

void ts_gather_packed(ts_rank *handle, int32_t param, int64_t layer, const int32_t *ids, int64_t base,
                      int64_t rows, void *out) {
  Rank &rank = Rank::of(handle);
  guarded([&] {
    rank.compute().gather(*rank.plan().param(param).layout, rank.weights(param, layer), ids, base, rows, out);
  });
}

void ts_pack(ts_rank *handle, int32_t param, int64_t layer) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.pack(param, layer); });
}

void ts_collective(ts_rank *handle, int32_t id, const void *src, void *dst) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.compute().post(std::make_unique<CollectiveTask>(rank, id, src, dst)); });
}

int64_t ts_group_index(ts_rank *handle, int32_t group) { return Rank::of(handle).groupIndex(group); }

void ts_copy(ts_rank *handle, void *dst, const void *src, int64_t bytes) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.compute().copy(dst, src, size_t(bytes)); });
}
}
