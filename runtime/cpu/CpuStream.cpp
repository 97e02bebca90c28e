#include "CpuDevice.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

CpuStream::~CpuStream() {
  auto &busy = device_.busy_;
  busy.erase(std::remove(busy.begin(), busy.end(), this), busy.end());
}

void CpuStream::beginBesideTasks() {
  device_.finish(*this, posted_);
  for (CpuStream *other : std::vector<CpuStream *>(device_.busy_))
    other->advance(/*mayBlock=*/false);
}

void CpuStream::advance(bool mayBlock) {
  while (!tasks_.empty() && tasks_.front()->advance(mayBlock)) {
    tasks_.pop_front();
    ++done_;
    mayBlock = false; // somebody may wait for what is done now
  }
  if (tasks_.empty())
    device_.busy_.erase(std::remove(device_.busy_.begin(), device_.busy_.end(), this), device_.busy_.end());
}

void CpuStream::launch(Module &module, const Launch &launch) {
  begin();
  ts_kernel_fn function = static_cast<CpuModule &>(module).kernels[launch.kernel].function;
  ThreadPool &pool = device_.pool_;
  int64_t parts = std::min<int64_t>(pool.size(), launch.count / std::max<int64_t>(launch.grain, 1));
  if (parts <= 1) {
    function(launch.buffers, launch.scalars, 0, launch.count);
    return;
  }
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(launch.count, parts, part);
    function(launch.buffers, launch.scalars, range.begin, range.end);
  });
}

void CpuStream::multiply(Product &product, const ProductOperands &o) {
  begin();
  const void *w = device_.wholeWeight(static_cast<CpuWeightProduct &>(product), o.w);
  if (o.starts)
    static_cast<CpuGroupedProduct &>(product).gemm.run(o.x, w, o.starts, o.y);
  else
    static_cast<CpuProduct &>(product).gemm.run(o.x, w, o.y, o.bias, o.addend);
}

void CpuStream::gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base,
                       int64_t rows, void *out) {
  begin();
  auto &held = static_cast<const CpuWeightLayout &>(layout);
  int64_t rowBytes = io::bytesOf(layout.type, layout.columns);
  ThreadPool &pool = device_.pool_;
  int64_t parts = std::min<int64_t>(pool.size(), std::max<int64_t>(rows * layout.columns / 8192, 1));
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(rows, parts, part);
    std::vector<float> wide(held.blocks ? size_t(layout.columns) : 0), panel;
    for (int64_t i = range.begin; i < range.end; ++i) {
      int64_t row = ids[i] - base;
      char *to = static_cast<char *>(out) + i * rowBytes;
      if (row < 0 || row >= layout.rows) {
        memset(to, 0, size_t(rowBytes));
      } else if (held.blocks) {
        held.blocks->readRow(w, row, wide.data(), panel);
        io::traits(layout.type).narrow(wide.data(), layout.columns, to);
      } else {
        held.pack->unpackRow(row, w, to);
      }
    }
  });
}

void CpuStream::pack(const WeightLayout &layout, const void *plain, void *packed) {
  begin();
  ThreadPool &pool = device_.pool_;
  int64_t blocks = (layout.rows + layout.rowBlock - 1) / layout.rowBlock;
  int64_t parts = std::min<int64_t>(pool.size(), 1 + layout.bytes / (256 << 10));
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(blocks, parts, part);
    int64_t first = range.begin * layout.rowBlock, last = std::min(range.end * layout.rowBlock, layout.rows);
    // Narrow rows are widened block by block: rounding them again changes nothing.
    int64_t step = layout.type == io::DType::F32 ? std::max<int64_t>(last - first, 1) : layout.rowBlock;
    std::vector<float> wide(layout.type == io::DType::F32 ? 0 : size_t(step * layout.columns));
    for (; first < last; first += step) {
      int64_t count = std::min(step, last - first);
      auto *from = static_cast<const char *>(plain) + io::bytesOf(layout.type, first * layout.columns);
      if (!wide.empty())
        io::traits(layout.type).widen(from, count * layout.columns, wide.data());
      device_.store(layout, packed, first, count,
                    wide.empty() ? reinterpret_cast<const float *>(from) : wide.data());
    }
  });
}

// Calls f(begin, end) for parts of `bytes`, each worth a thread.
template <typename F> static void inParts(ThreadPool &pool, size_t bytes, F &&f) {
  if (bytes == 0) // whose address may be null
    return;
  int64_t parts = std::min<int64_t>(pool.size(), 1 + int64_t(bytes / (256 << 10)));
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(int64_t(bytes), parts, part);
    f(size_t(range.begin), size_t(range.end));
  });
}

void CpuStream::copy(void *dst, const void *src, size_t bytes) {
  begin();
  inParts(device_.pool_, bytes, [&](size_t begin, size_t end) {
    memcpy(static_cast<char *>(dst) + begin, static_cast<const char *>(src) + begin, end - begin);
  });
}

void CpuStream::fill(void *dst, uint8_t byte, size_t bytes) {
  begin();
  inParts(device_.pool_, bytes,
          [&](size_t begin, size_t end) { memset(static_cast<char *>(dst) + begin, byte, end - begin); });
}

void CpuStream::post(std::unique_ptr<StreamTask> task) {
  tasks_.push_back(std::move(task));
  ++posted_;
  if (tasks_.size() == 1)
    device_.busy_.push_back(this);
  if (kind_ == StreamKind::Communication)
    advance(/*mayBlock=*/false);
  else
    device_.finish(*this, posted_);
}

void CpuStream::record(Event &event) {
  auto &place = static_cast<CpuEvent &>(event);
  place.stream_ = this;
  place.place_ = posted_;
}

// Also where this stream's own tasks are not done: what it is given next runs at once, and it waits for those
// first.
void CpuStream::wait(Event &event) { event.wait(); }

void CpuStream::synchronize() { device_.finish(*this, posted_); }

void CpuEvent::wait() {
  if (stream_)
    stream_->device_.finish(*stream_, place_);
}

} // namespace tessera::runtime
