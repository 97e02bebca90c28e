#include "tessera/runtime/cpu/Gemm.h"
#include "Dnnl.h"
#include "GemmKernels.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

PackedLayout::PackedLayout(int64_t n, int64_t k) : n(n), k(k) {
  block = std::max<int64_t>(16, std::min<int64_t>(64, (n + 15) / 16 * 16));
  paddedN = (n + block - 1) / block * block;
  paddedK = (k + 15) / 16 * 16;
}

void PackedLayout::packRow(int64_t i, const float *row, float *packed) const {
  float *to = packed + i / block * block * paddedK + i % block;
  for (int64_t j = 0; j < k; ++j)
    to[j * block] = row[j];
}

void PackedLayout::packRows(int64_t begin, int64_t rows, const float *from, float *packed) const {
  // Tiles of 16 by 16: both sides stay in the cache's lines.
  for (int64_t i0 = 0; i0 < rows; i0 += 16)
    for (int64_t j0 = 0; j0 < k; j0 += 16) {
      int64_t iEnd = std::min(i0 + 16, rows), jEnd = std::min(j0 + 16, k);
      int64_t row = begin + i0;
      float *to = packed + row / block * block * paddedK + row % block;
      for (int64_t j = j0; j < jEnd; ++j)
        for (int64_t i = i0; i < iEnd; ++i)
          to[j * block + i - i0] = from[i * k + j];
    }
}

void PackedLayout::unpackRow(int64_t i, const float *packed, float *row) const {
  const float *from = packed + i / block * block * paddedK + i % block;
  for (int64_t j = 0; j < k; ++j)
    row[j] = from[j * block];
}

namespace {

// A one-thread oneDNN product of fixed shape, with its own memory objects: used by one thread at a time.
class DnnlMatmul {
public:
  DnnlMatmul(const PackedLayout *layout, int64_t m, int64_t n, int64_t k) : dnnl_(Dnnl::get()), m_(m) {
    dnnl_memory_desc_t x, w, y;
    dnnl_dims_t xDims = {m, k}, wDims = {k, n}, yDims = {m, n};
    expect(dnnl_.memory_desc_init_by_tag(&x, 2, xDims, dnnl_f32, dnnl_ab));
    expect(dnnl_.memory_desc_init_by_tag(&y, 2, yDims, dnnl_f32, dnnl_ab));
    dnnl_format_tag_t tag = !layout               ? dnnl_ba
                            : layout->block == 64 ? dnnl_BA16a64b
                            : layout->block == 48 ? dnnl_BA16a48b
                            : layout->block == 32 ? dnnl_BA16a32b
                                                  : dnnl_BA16a16b;
    expect(dnnl_.memory_desc_init_by_tag(&w, 2, wDims, dnnl_f32, tag));
    dnnl_matmul_desc_t desc;
    expect(dnnl_.matmul_desc_init(&desc, &x, &w, nullptr, &y));
    dnnl_primitive_attr_t attributes;
    expect(dnnl_.primitive_attr_create(&attributes));
    expect(dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
    dnnl_primitive_desc_t pd;
    dnnl_status_t status = dnnl_.primitive_desc_create(&pd, &desc, attributes, dnnl_.engine, nullptr);
    dnnl_.primitive_attr_destroy(attributes);
    expect(status);
    expect(dnnl_.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &implementation_));
    const dnnl_memory_desc_t *scratch = dnnl_.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    scratch_ = Memory(dnnl_.memory_desc_get_size(scratch), "scratch space of oneDNN");
    expect(dnnl_.primitive_create(&primitive_, pd));
    expect(dnnl_.memory_create(&memory_[0], &x, dnnl_.engine, nullptr));
    expect(dnnl_.memory_create(&memory_[1], &w, dnnl_.engine, nullptr));
    expect(dnnl_.memory_create(&memory_[2], &y, dnnl_.engine, nullptr));
    expect(dnnl_.memory_create(&memory_[3], scratch, dnnl_.engine, scratch_.data()));
    dnnl_.primitive_desc_destroy(pd);
    expect(dnnl_.stream_create(&stream_, dnnl_.engine, dnnl_stream_default_flags));
  }
  ~DnnlMatmul() {
    dnnl_.stream_destroy(stream_);
    for (dnnl_memory_t memory : memory_)
      dnnl_.memory_destroy(memory);
    dnnl_.primitive_destroy(primitive_);
  }
  DnnlMatmul(const DnnlMatmul &) = delete;

  const char *implementation() const { return implementation_; }
  int64_t rows() const { return m_; }

  void run(const float *x, const float *w, float *y) {
    dnnl_.memory_set_data_handle(memory_[0], const_cast<float *>(x));
    dnnl_.memory_set_data_handle(memory_[1], const_cast<float *>(w));
    dnnl_.memory_set_data_handle(memory_[2], y);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memory_[0]},
                                   {DNNL_ARG_WEIGHTS, memory_[1]},
                                   {DNNL_ARG_DST, memory_[2]},
                                   {DNNL_ARG_SCRATCHPAD, memory_[3]}};
    expect(dnnl_.primitive_execute(primitive_, stream_, 4, arguments));
  }

private:
  static void expect(dnnl_status_t status) {
    if (status != dnnl_success)
      throw Error("cannot compute a product", "oneDNN", "status " + std::to_string(int(status)));
  }
  const Dnnl &dnnl_;
  int64_t m_;
  const char *implementation_ = "";
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_t memory_[4] = {};
  dnnl_stream_t stream_ = nullptr;
  Memory scratch_;
};

} // namespace

// oneDNN takes over where every thread gets at least this many rows. Its threads share rows and read all
// weights each, ours share columns and read them once; measured on Zen 5, two threads draw level at 64 rows
// each, one alone at about 24.
static int64_t rowsForDnnl(int64_t threads) { return threads == 1 ? 24 : 64; }

struct Gemm::State {
  int64_t m, n, k;
  bool packed;
  ThreadPool &pool;
  PackedLayout layout;
  PackedWeight weight;
  std::vector<std::unique_ptr<DnnlMatmul>> byRows; // one for each part of the rows; empty: own kernels
};

Gemm::Gemm(int64_t m, int64_t n, int64_t k, bool packed, ThreadPool &pool)
    : state_(new State{m, n, k, packed, pool, PackedLayout(n, k), {}, {}}) {
  const PackedLayout &l = state_->layout;
  state_->weight = {l.n, l.k, l.block, l.paddedN, l.paddedK};
  int64_t parts = pool.size();
  if (m / parts < rowsForDnnl(parts) || n == 0 || k == 0)
    return;
  for (int64_t part = 0; part < parts; ++part) {
    Range rows = splitRange(m, parts, part);
    auto product = std::make_unique<DnnlMatmul>(packed ? &l : nullptr, rows.end - rows.begin, n, k);
    // oneDNN answers a layout that its fast code does not know with a reference loop, hundreds of times
    // slower.
    if (strncmp(product->implementation(), "ref", 3) == 0) {
      state_->byRows.clear();
      return;
    }
    state_->byRows.push_back(std::move(product));
  }
}

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm &&) noexcept = default;

const char *Gemm::implementation() const {
  return state_->byRows.empty() ? "own" : state_->byRows[0]->implementation();
}

void Gemm::run(const float *x, const float *w, float *y) {
  State &s = *state_;
  if (s.k == 0) {
    memset(y, 0, s.m * s.n * sizeof(float));
    return;
  }
  if (!s.byRows.empty()) {
    int64_t parts = int64_t(s.byRows.size());
    s.pool.parallel(int(parts), [&](int part) {
      int64_t begin = splitRange(s.m, parts, part).begin;
      s.byRows[part]->run(x + begin * s.k, w, y + begin * s.n);
    });
    return;
  }
  const GemmKernels &kernels = gemmKernels();
  int64_t units = s.packed ? (s.n + 15) / 16 : s.n;
  // A thread is worth about a microsecond: 64 KiB of weights.
  int64_t parts = std::min<int64_t>({int64_t(s.pool.size()), units, 1 + s.n * s.k * 4 / (64 << 10)});
  s.pool.parallel(int(std::max<int64_t>(parts, 1)), [&](int part) {
    Range r = splitRange(units, std::max<int64_t>(parts, 1), part);
    if (s.packed)
      kernels.packedColumns(s.weight, w, s.m, x, y, r.begin, r.end);
    else
      kernels.plainColumns(s.m, s.n, s.k, x, w, y, r.begin, r.end);
  });
}

} // namespace tessera::runtime
