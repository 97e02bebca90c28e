#include "CudaProduct.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;

// --- Shapes ---

std::string ProductShape::key() const {
  std::string text;
  for (io::DType type : {x, w, y})
    text += std::string(io::traits(type).name) + " ";
  text += std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " align " +
          std::to_string(alignX) + " " + std::to_string(alignW) + " " + std::to_string(alignY);
  text += epilogue.function == ProductFunction::None
              ? std::string(" plain")
              : std::string(" ") + productFunctionName(epilogue.function);
  text += std::string(epilogue.bias ? " bias" : "") + (epilogue.addend ? " addend" : "");
  return text + (xTransposed ? " x^T" : "") + (wTransposed ? " w^T" : "");
}

static std::optional<cudaDataType> dataType(io::DType type) {
  switch (type) {
  case io::DType::F32:
    return CUDA_R_32F;
  case io::DType::F16:
    return CUDA_R_16F;
  case io::DType::BF16:
    return CUDA_R_16BF;
  default:
    return std::nullopt;
  }
}

static cublasLtEpilogue_t epilogueValue(const ProductEpilogue &epilogue) {
  switch (epilogue.function) {
  case ProductFunction::Relu:
    return epilogue.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case ProductFunction::GeluTanh:
    return epilogue.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case ProductFunction::None:
    break;
  }
  return epilogue.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// The largest power of two, up to 16, that divides `bytes`.
static int64_t alignmentOf(uint64_t bytes) { return int64_t((bytes | 16) & -(bytes | 16)); }

// --- One product ---

void CudaProduct::fail(const std::string &why) const {
  throw Error("cannot multiply matrices", products_.device().describe() + ", " + shape_.key(), why,
              "compile with another --dtype");
}

CudaProduct::CudaProduct(CudaProducts &products, const ProductShape &shape) : CudaProduct(products) {
  shape_ = shape;
  auto x = dataType(shape.x), w = dataType(shape.w), y = dataType(shape.y);
  // The pairs that the library has kernels for.
  if (!x || !w || !y || *x != *w || (*y != *x && *y != CUDA_R_32F))
    fail("cuBLASLt multiplies f32, bf16 or f16 by the same, into the same or f32");
  const CublasLtLibrary &lt = products.library();
  auto expect = [&](cublasStatus_t status) { products.expect(status, "describe a product"); };
  expect(lt.cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  int32_t opOfW = shape.wTransposed ? CUBLAS_OP_N : CUBLAS_OP_T,
          opOfX = shape.xTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  expect(lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &opOfW, sizeof(int32_t)));
  expect(lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSB, &opOfX, sizeof(int32_t)));
  uint32_t epilogue = epilogueValue(shape.epilogue);
  expect(
      lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
  if (shape.epilogue.bias) {
    int32_t biasType = *y;
    expect(lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &biasType,
                                             sizeof(biasType)));
    // Algorithms are proposed for the address that stands there: one that is aligned to 16 bytes and no more.
    const void *like = static_cast<const char *>(products.device().spareWorkspace()) + 16;
    expect(lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &like, sizeof(like)));
  }
  // Rows of `inner` numbers in memory are columns to the library.
  auto matrix = [&](cublasLtMatrixLayout_t &layout, cudaDataType type, int64_t rows, int64_t inner) {
    expect(lt.cublasLtMatrixLayoutCreate(&layout, type, uint64_t(inner), uint64_t(rows), inner));
  };
  shape.wTransposed ? matrix(a_, *w, shape.k, shape.n) : matrix(a_, *w, shape.n, shape.k);
  shape.xTransposed ? matrix(b_, *x, shape.k, shape.m) : matrix(b_, *x, shape.m, shape.k);
  expect(lt.cublasLtMatrixLayoutCreate(&d_, *y, uint64_t(shape.n), uint64_t(shape.m), shape.n));
  chosen_ = candidates(1).front();
  products.living_.push_back(this);
}

CudaProduct::~CudaProduct() {
  auto &living = products_.living_;
  living.erase(std::remove(living.begin(), living.end(), this), living.end());
  const CublasLtLibrary &lt = products_.library();
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_})
    if (layout)
      lt.cublasLtMatrixLayoutDestroy(layout);
  if (desc_)
    lt.cublasLtMatmulDescDestroy(desc_);
}

std::vector<ProductAlgorithm> CudaProduct::propose(int64_t alignX, int64_t alignW, int64_t alignY,
                                                   int most) const {
  const CublasLtLibrary &lt = products_.library();
  auto expect = [&](cublasStatus_t status) { products_.expect(status, "describe a product"); };
  cublasLtMatmulPreference_t preference = nullptr;
  expect(lt.cublasLtMatmulPreferenceCreate(&preference));
  std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(lt.cublasLtMatmulPreferenceDestroy)> owner(
      preference, lt.cublasLtMatmulPreferenceDestroy);
  uint64_t workspace = kProductWorkspaceBytes;
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    expect(lt.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  // Parts of a sum: not in any order that comes, and not rounded in between.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t(alignW));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t(alignX));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t(alignY));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t(alignY));
  std::vector<cublasLtMatmulHeuristicResult_t> results(size_t(most) + 4);
  int found = 0;
  cublasStatus_t status = lt.cublasLtMatmulAlgoGetHeuristic(
      products_.handle(), desc_, a_, b_, d_, d_, preference, int(results.size()), results.data(), &found);
  std::vector<ProductAlgorithm> algorithms;
  for (int i = 0; i < found && status == CUBLAS_STATUS_SUCCESS; ++i) {
    const cublasLtMatmulHeuristicResult_t &result = results[size_t(i)];
    uint64_t numerics = 0;
    size_t written = 0;
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > workspace ||
        lt.cublasLtMatmulAlgoCapGetAttribute(&result.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &numerics,
                                             sizeof(numerics), &written) != CUBLAS_STATUS_SUCCESS)
      continue;
    if (numerics & (CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F))
      continue;
    if (algorithms.size() < size_t(most))
      algorithms.push_back({result.algo, result.workspaceSize});
  }
  if (algorithms.empty())
    fail(status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED
             ? std::string("cuBLASLt: ") + lt.cublasLtGetStatusString(status)
             : "cuBLASLt has no algorithm with sums in float32 for it");
  return algorithms;
}

std::vector<ProductAlgorithm> CudaProduct::candidates(int most) const {
  return propose(shape_.alignX, shape_.alignW, shape_.alignY, most);
}

bool CudaProduct::choose(const cublasLtMatmulAlgo_t &algorithm) {
  cublasLtMatmulHeuristicResult_t result = {};
  cublasStatus_t status = products_.library().cublasLtMatmulAlgoCheck(products_.handle(), desc_, a_, b_, d_,
                                                                      d_, &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kProductWorkspaceBytes)
    return false;
  chosen_ = {algorithm, result.workspaceSize};
  return true;
}

cublasStatus_t CudaProduct::enqueue(const ProductAlgorithm &with, void *workspace, CUstream stream,
                                    const ProductOperands &o) const {
  const CublasLtLibrary &lt = products_.library();
  if (shape_.epilogue.bias) {
    cublasStatus_t status =
        lt.cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof(o.bias));
    if (status != CUBLAS_STATUS_SUCCESS)
      return status;
  }
  const bool adds = shape_.epilogue.addend;
  const float alpha = 1, beta = adds ? 1 : 0;
  return lt.cublasLtMatmul(products_.handle(), desc_, &alpha, o.w, a_, o.x, b_, &beta, adds ? o.addend : o.y,
                           d_, o.y, d_, &with.algorithm, workspace, with.workspace, stream);
}

void CudaProduct::run(CUstream stream, const ProductOperands &o) {
  CudaDevice &device = products_.device();
  auto alignment = [](const void *address) { return alignmentOf(reinterpret_cast<uintptr_t>(address)); };
  const ProductAlgorithm *with = &chosen_;
  // The library reads it 16 bytes at a time, whatever algorithm: the compiler keeps to that.
  if (shape_.epilogue.bias && alignment(o.bias) < 16)
    throw Error("cannot multiply matrices", device.describe() + ", " + shape_.key(),
                "the bias is not aligned to 16 bytes", "compile it again with this version of llm-compile");
  if (alignment(o.x) < shape_.alignX || alignment(o.w) < shape_.alignW || alignment(o.y) < shape_.alignY ||
      (shape_.epilogue.addend && alignment(o.addend) < shape_.alignY)) {
    if (!forAnyAddress_)
      forAnyAddress_ =
          propose(io::bytesOf(shape_.x, 1), io::bytesOf(shape_.w, 1), io::bytesOf(shape_.y, 1), 1).front();
    with = &*forAnyAddress_;
  }
  void *workspace = device.workspaceFor(stream);
  if (!workspace)
    return device.given(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "find a workspace while an entry is recorded");
  cublasStatus_t status = enqueue(*with, workspace, stream, o);
  if (status != CUBLAS_STATUS_SUCCESS && !device.capturing())
    fail(std::string("cuBLASLt: ") + products_.library().cublasLtGetStatusName(status));
  device.launched(status == CUBLAS_STATUS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN,
                  "a product of cuBLASLt", stream);
}

// --- All products of a device ---

CudaProducts::CudaProducts(CudaDevice &device)
    : device_(device), library_(CublasLtLibrary::get(device.cuda().version)) {
  expect(library_.cublasLtCreate(&handle_), "start cuBLASLt");
  device.spareWorkspace(); // now, while the plan of the device's memory is made
}

CudaProducts::~CudaProducts() { library_.cublasLtDestroy(handle_); }

void CudaProducts::expect(cublasStatus_t status, const std::string &what) const {
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw device_.outOfMemory("to " + what + ", rank " + std::to_string(device_.options().rank));
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error("cannot " + what, device_.describe() + ", " + library_.path,
                std::string(library_.cublasLtGetStatusName(status)) + ": " +
                    library_.cublasLtGetStatusString(status),
                "install the version of cuBLASLt that the driver is for");
}

std::unique_ptr<Product> CudaProducts::create(const MatmulSpec &spec, const WeightLayout *layout) {
  if (spec.groups)
    throw Error("cannot compute a product", "a product by group", "no kernel for GPUs computes it",
                "compile the model with --target=cpu");
  ProductShape shape;
  shape.m = spec.m, shape.n = spec.n, shape.k = spec.k;
  shape.x = spec.x, shape.w = spec.w, shape.y = spec.y;
  shape.epilogue = {spec.function, spec.bias, spec.addend};
  shape.xTransposed = spec.xTransposed, shape.wTransposed = spec.wTransposed;
  if (layout) // of layers that lie one after another
    shape.alignW = alignmentOf(uint64_t(layout->bytes));
  return std::make_unique<CudaProduct>(*this, shape);
}

} // namespace tessera::runtime
