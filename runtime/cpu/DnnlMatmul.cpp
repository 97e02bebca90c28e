#include "DnnlMatmul.h"
#include "tessera/runtime/core/Error.h"

#include <map>
#include <mutex>
#include <sys/mman.h>
#include <tuple>

namespace tessera::runtime {

static void expect(dnnl_status_t status) {
  if (status != dnnl_success)
    throw Error("cannot compute a product", "oneDNN", "status " + std::to_string(int(status)));
}

static dnnl_data_type_t dataType(io::DType type) {
  switch (type) {
  case io::DType::F32:
    return dnnl_f32;
  case io::DType::BF16:
    return dnnl_bf16;
  default:
    throw Error("cannot compute a product", io::dtypeName(type), "oneDNN is not asked for this type",
                "leave it to our own kernels");
  }
}

// oneDNN does not look whether it was given memory for its code, and writes into it: we look before. A
// product has up to 32 kernels of 256 KiB.
static void expectRoomForCode() {
  constexpr size_t bytes = 64 << 20;
  void *room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw Error("cannot allocate memory", "the code of a product", "the system has no more for it",
                "allow it more memory, start one process a rank with mpirun, or compile for a smaller mesh");
  munmap(room, bytes);
}

// The code of one shape. Threads may run it at once: what it needs besides is in the objects that run it.
class DnnlCode {
public:
  DnnlCode(const PackedLayout *layout, const DnnlShape &shape) : dnnl_(Dnnl::get()) {
    describe(layout, shape);
    dnnl_matmul_desc_t desc;
    expect(dnnl_.matmul_desc_init(&desc, &x, &w, nullptr, &y));
    dnnl_primitive_attr_t attributes;
    expect(dnnl_.primitive_attr_create(&attributes));
    dnnl_status_t status = dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && shape.adds)
      status = addToResult(attributes);
    dnnl_primitive_desc_t description = nullptr;
    if (status == dnnl_success)
      status = dnnl_.primitive_desc_create(&description, &desc, attributes, dnnl_.engine, nullptr);
    dnnl_.primitive_attr_destroy(attributes);
    if (status == dnnl_unimplemented) // on this CPU, or what ONEDNN_MAX_CPU_ISA leaves of it
      return;
    expect(status);
    status = dnnl_.primitive_desc_query(description, dnnl_query_impl_info_str, 0, &implementation);
    scratch = *dnnl_.primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    if (status == dnnl_success)
      status = dnnl_.primitive_create(&primitive, description);
    dnnl_.primitive_desc_destroy(description);
    expect(status);
  }
  ~DnnlCode() {
    if (primitive)
      dnnl_.primitive_destroy(primitive);
  }
  DnnlCode(const DnnlCode &) = delete;

  // Made by the first who asks; gone with the last who holds it.
  static std::shared_ptr<const DnnlCode> get(const PackedLayout *layout, const DnnlShape &s) {
    using Shape = std::tuple<int64_t, int64_t, int64_t, int64_t, io::DType, io::DType, io::DType, bool, bool,
                             int64_t, int64_t, bool>;
    static std::mutex mutex;
    static std::map<Shape, std::weak_ptr<const DnnlCode>> known;
    std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<const DnnlCode> &entry =
        known[{layout ? layout->block : 0, s.m, s.n, s.k, s.types.x, s.types.w, s.types.y, s.transposed.x,
               s.transposed.w, s.columnsOfX, s.columns, s.adds}];
    std::shared_ptr<const DnnlCode> code = entry.lock();
    if (!code) {
      expectRoomForCode();
      code = std::make_shared<DnnlCode>(layout, s);
      entry = code;
    }
    return code;
  }

  dnnl_memory_desc_t x, w, y, scratch{};
  const char *implementation = "";
  dnnl_primitive_t primitive = nullptr;

private:
  void describe(const PackedLayout *layout, const DnnlShape &s) {
    dnnl_dims_t xDims = {s.m, s.k}, wDims = {s.k, s.n}, yDims = {s.m, s.n}, across = {1, s.columnsOfX},
                rows = {s.columns, 1};
    if (s.transposed.x)
      expect(dnnl_.memory_desc_init_by_strides(&x, 2, xDims, dataType(s.types.x), across));
    else
      expect(dnnl_.memory_desc_init_by_tag(&x, 2, xDims, dataType(s.types.x), dnnl_ab));
    expect(dnnl_.memory_desc_init_by_strides(&y, 2, yDims, dataType(s.types.y), rows));
    if (s.transposed.w) {
      expect(dnnl_.memory_desc_init_by_strides(&w, 2, wDims, dataType(s.types.w), rows));
      return;
    }
    bool pairs = layout && io::traits(s.types.w).packGroup == 2;
    dnnl_format_tag_t tag = !layout               ? dnnl_ba
                            : layout->block == 64 ? (pairs ? dnnl_BA16a64b2a : dnnl_BA16a64b)
                            : layout->block == 48 ? (pairs ? dnnl_BA16a48b2a : dnnl_BA16a48b)
                            : layout->block == 32 ? (pairs ? dnnl_BA16a32b2a : dnnl_BA16a32b)
                                                  : (pairs ? dnnl_BA16a16b2a : dnnl_BA16a16b);
    expect(dnnl_.memory_desc_init_by_tag(&w, 2, wDims, dataType(s.types.w), tag));
  }

  // y += x . W^T: sums begin with what lies there.
  dnnl_status_t addToResult(dnnl_primitive_attr_t attributes) {
    dnnl_post_ops_t after;
    dnnl_status_t status = dnnl_.post_ops_create(&after);
    if (status != dnnl_success)
      return status;
    status = dnnl_.post_ops_append_sum(after, 1.0f);
    if (status == dnnl_success)
      status = dnnl_.primitive_attr_set_post_ops(attributes, after);
    dnnl_.post_ops_destroy(after);
    return status;
  }

  const Dnnl &dnnl_;
};

DnnlMatmul::DnnlMatmul(const PackedLayout *layout, const DnnlShape &shape)
    : dnnl_(Dnnl::get()), code_(DnnlCode::get(layout, shape)),
      scratch_(dnnl_.memory_desc_get_size(&code_->scratch), "scratch space of oneDNN") {
  expect(dnnl_.memory_create(&memory_[0], &code_->x, dnnl_.engine, nullptr));
  expect(dnnl_.memory_create(&memory_[1], &code_->w, dnnl_.engine, nullptr));
  expect(dnnl_.memory_create(&memory_[2], &code_->y, dnnl_.engine, nullptr));
  expect(dnnl_.memory_create(&memory_[3], &code_->scratch, dnnl_.engine, scratch_.data()));
  expect(dnnl_.stream_create(&stream_, dnnl_.engine, dnnl_stream_default_flags));
}

DnnlMatmul::~DnnlMatmul() {
  dnnl_.stream_destroy(stream_);
  for (dnnl_memory_t memory : memory_)
    dnnl_.memory_destroy(memory);
}

const char *DnnlMatmul::implementation() const { return code_->implementation; }

void DnnlMatmul::run(const void *x, const void *w, void *y) {
  dnnl_.memory_set_data_handle(memory_[0], const_cast<void *>(x));
  dnnl_.memory_set_data_handle(memory_[1], const_cast<void *>(w));
  dnnl_.memory_set_data_handle(memory_[2], y);
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memory_[0]},
                                 {DNNL_ARG_WEIGHTS, memory_[1]},
                                 {DNNL_ARG_DST, memory_[2]},
                                 {DNNL_ARG_SCRATCHPAD, memory_[3]}};
  expect(dnnl_.primitive_execute(code_->primitive, stream_, 4, arguments));
}

} // namespace tessera::runtime
