#include "Problem.h"

#include <algorithm>
#include <cstdlib>

namespace standin {

using tessera::io::DType;

Objects &Objects::get() {
  static Objects *objects = new Objects; // callers may destroy handles while the process ends
  return *objects;
}

void Objects::expectHandle(cublasLtHandle_t handle, const char *call) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!handles.count(handle))
    refuse(call, "the library's handle was never created, or destroyed");
}

DType elementType(cudaDataType type) {
  switch (type) {
  case CUDA_R_32F:
    return DType::F32;
  case CUDA_R_16F:
    return DType::F16;
  case CUDA_R_16BF:
    return DType::BF16;
  default:
    return DType::F64;
  }
}

size_t elementBytes(cudaDataType type) { return size_t(tessera::io::blockBytes(elementType(type))); }

size_t spanBytes(const Layout &layout) {
  if (layout.rows == 0 || layout.columns == 0)
    return 0;
  return ((layout.columns - 1) * uint64_t(layout.leading) + layout.rows) * elementBytes(layout.type);
}

static std::string sizeText(const Layout &layout) {
  return std::to_string(layout.rows) + "x" + std::to_string(layout.columns);
}

Problem Problem::make(const char *call, const MatmulDesc &desc, const Layout &a, const Layout &b,
                      const Layout &c, const Layout &d) {
  Problem p{0, 0, 0, a, b, c, d, desc};
  auto unsupported = [&](const std::string &why) { refuse(call, why, CUBLAS_STATUS_NOT_SUPPORTED); };
  const struct {
    const char *name;
    const Layout &layout;
  } all[] = {{"A", a}, {"B", b}, {"C", c}, {"D", d}};
  for (const auto &[name, layout] : all) {
    if (layout.order != CUBLASLT_ORDER_COL || layout.batch != 1)
      unsupported(std::string(name) + " is not one column-major matrix");
    if (layout.leading < int64_t(std::max<uint64_t>(layout.rows, 1)))
      refuse(call, std::string(name) + "'s leading dimension " + std::to_string(layout.leading) +
                       " is below its " + std::to_string(layout.rows) + " rows");
  }
  if (desc.compute != CUBLAS_COMPUTE_32F || desc.scale != CUDA_R_32F)
    unsupported("sums in another type than float32");
  if (desc.pointerMode != CUBLASLT_POINTER_MODE_HOST || desc.transC != CUBLAS_OP_N)
    unsupported("alpha and beta on the device, or C transposed");
  bool transA = desc.transA != CUBLAS_OP_N, transB = desc.transB != CUBLAS_OP_N;
  p.m = transA ? a.columns : a.rows;
  p.k = transA ? a.rows : a.columns;
  p.n = transB ? b.rows : b.columns;
  if ((transB ? b.columns : b.rows) != p.k || d.rows != p.m || d.columns != p.n || c.rows != d.rows ||
      c.columns != d.columns)
    refuse(call, "sizes do not fit: A " + sizeText(a) + (transA ? " transposed" : "") + ", B " + sizeText(b) +
                     (transB ? " transposed" : "") + ", C " + sizeText(c) + ", D " + sizeText(d));
  bool known = a.type == b.type && c.type == d.type &&
               (a.type == CUDA_R_32F || a.type == CUDA_R_16F || a.type == CUDA_R_16BF) &&
               (d.type == a.type || d.type == CUDA_R_32F);
  if (!known)
    unsupported("these types together");
  uint32_t epilogue = desc.epilogue & ~uint32_t(CUBLASLT_EPILOGUE_BIAS);
  if (epilogue != 0 && epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_RELU &&
      epilogue != CUBLASLT_EPILOGUE_GELU)
    unsupported("epilogue " + std::to_string(desc.epilogue));
  if (p.hasBias() && p.biasType() != d.type)
    unsupported("a bias of another type than D");
  return p;
}

std::string Problem::name() const {
  auto type = [](const Layout &layout) {
    return std::string(tessera::io::traits(elementType(layout.type)).name) + " ";
  };
  return type(a) + type(b) + type(d) + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

uint64_t Problem::digest() const {
  std::string text = name();
  for (int64_t part : {a.leading, b.leading, c.leading, d.leading, int64_t(desc.transA), int64_t(desc.transB),
                       int64_t(desc.epilogue)})
    text += " " + std::to_string(part);
  uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

// What the fast code asks of an operand: 16 bytes, where its columns keep to that.
static uint32_t wantedAlignment(const Layout &layout, uint32_t promised) {
  uint64_t column = uint64_t(layout.leading) * elementBytes(layout.type);
  return promised >= 16 && column % 16 == 0 ? 16 : uint32_t(elementBytes(layout.type));
}

// How many algorithms are proposed: TESSERA_STANDIN_ALGORITHMS. One: nothing is measured.
static long proposals() {
  const char *text = getenv("TESSERA_STANDIN_ALGORITHMS");
  if (!text || !*text)
    return 1;
  char *end = nullptr;
  long count = strtol(text, &end, 10);
  if (*end || count < 1)
    refuse("TESSERA_STANDIN_ALGORITHMS", std::string(text) + " is no number from 1 on; unset it for 1");
  return count;
}

std::vector<Algorithm> Problem::algorithms(const Preference &preference) const {
  std::vector<Algorithm> list;
  Algorithm plain = {};
  plain.mark = Algorithm::kMark;
  plain.splits = 1;
  plain.problem = digest();
  plain.numerics = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
  plain.alignA = wantedAlignment(a, preference.alignA);
  plain.alignB = wantedAlignment(b, preference.alignB);
  plain.alignC = wantedAlignment(c, preference.alignC);
  plain.alignD = wantedAlignment(d, preference.alignD);
  list.push_back(plain);
  for (uint32_t splits = 2; long(list.size()) < proposals() && splits <= k && splits < 8; ++splits) {
    Algorithm split = plain;
    split.splits = splits;
    split.workspace = splits * m * n * 4;
    if (split.workspace > preference.workspace ||
        !(preference.reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE))
      break;
    list.push_back(split);
  }
  if (proposals() == 1)
    return list;
  // What the library has, too, and not everybody wants.
  if (a.type != CUDA_R_16BF) {
    Algorithm rough = plain;
    rough.numerics = a.type == CUDA_R_16F ? uint64_t(CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F)
                                          : CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
                                                CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
    list.push_back(rough);
  }
  if (preference.reductions & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE && k >= 2) {
    Algorithm narrow = plain;
    narrow.splits = 2;
    narrow.narrowParts = 1;
    list.push_back(narrow);
  }
  return list;
}

} // namespace standin
