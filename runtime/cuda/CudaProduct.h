// Matrix products by cuBLASLt.
//
// y[m, n] = x[m, k] . w[n, k]^T, row-major. Seen column by column, as the library sees it, that is
// D = op(A) . B with D = y^T [n, m], A = w^T [k, n] transposed, B = x^T [k, m], and nothing is moved: an
// operand that lies the other way round ([k, m], [k, n]) is the same with the other op. Sums
// are float32 (CUBLAS_COMPUTE_32F), never TF32, and the parts of a product that is split along k are added in
// a fixed order: an algorithm gives the same bits in every run.
#ifndef TESSERA_RUNTIME_CUDA_CUDAPRODUCT_H
#define TESSERA_RUNTIME_CUDA_CUDAPRODUCT_H

#include "CudaDevice.h"
#include "SharedChoices.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

class CudaProducts;

// What the library does with the sums before it rounds and writes them: y = function(sum + addend + bias).
// Its GELU is the tanh form.
struct ProductEpilogue {
  ProductFunction function = ProductFunction::None;
  bool bias = false;   // one element for each of the n columns
  bool addend = false; // a matrix like y, perhaps y itself: C, and beta = 1
};

// A product as the library is told of it. Sizes, types and alignments: two of the same shape have the same
// algorithms.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  io::DType x = io::DType::F32, w = io::DType::F32, y = io::DType::F32;
  int64_t alignX = 16, alignW = 16, alignY = 16; // bytes; powers of two
  ProductEpilogue epilogue;
  bool xTransposed = false, wTransposed = false; // x lies as [k, m], w as [k, n]

  // "bf16 bf16 f32 1x4096x14336 align 16 16 16 plain": a line of the file of choices.
  std::string key() const;
  bool operator==(const ProductShape &other) const { return key() == other.key(); }
};

struct ProductAlgorithm {
  cuda::cublasLtMatmulAlgo_t algorithm = {};
  size_t workspace = 0;
};

class CudaProduct final : public Product {
public:
  // Takes the algorithm that the library proposes first. Throws Error where the library has none.
  CudaProduct(CudaProducts &products, const ProductShape &shape);
  ~CudaProduct() override;
  CudaProduct(const CudaProduct &) = delete;

  const ProductShape &shape() const { return shape_; }
  int64_t bytesX() const { return io::bytesOf(shape_.x, shape_.m * shape_.k); }
  int64_t bytesW() const { return io::bytesOf(shape_.w, shape_.n * shape_.k); }
  int64_t bytesY() const { return io::bytesOf(shape_.y, shape_.m * shape_.n); }
  int64_t bytesBias() const { return shape_.epilogue.bias ? io::bytesOf(shape_.y, shape_.n) : 0; }

  // Algorithms that may be chosen, the library's favourite first; none is empty.
  std::vector<ProductAlgorithm> candidates(int most) const;
  // Takes this one from now on; false if the library refuses it here.
  bool choose(const cuda::cublasLtMatmulAlgo_t &algorithm);
  const ProductAlgorithm &chosen() const { return chosen_; }

  // Gives the product to a stream.
  void run(cuda::CUstream stream, const ProductOperands &operands);
  // The same with an algorithm and a workspace of the caller's choice.
  cuda::cublasStatus_t enqueue(const ProductAlgorithm &with, void *workspace, cuda::CUstream stream,
                               const ProductOperands &operands) const;

private:
  explicit CudaProduct(CudaProducts &products) : products_(products) {} // now the destructor cleans up
  // What the library proposes for memory aligned to so many bytes.
  std::vector<ProductAlgorithm> propose(int64_t alignX, int64_t alignW, int64_t alignY, int most) const;
  [[noreturn]] void fail(const std::string &why) const;

  CudaProducts &products_;
  ProductShape shape_;
  cuda::cublasLtMatmulDesc_t desc_ = nullptr;
  cuda::cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  ProductAlgorithm chosen_;
  std::optional<ProductAlgorithm> forAnyAddress_; // made when an address is less aligned than was promised
};

// The products of a device, and the choice of their algorithms.
class CudaProducts {
public:
  explicit CudaProducts(CudaDevice &device);
  ~CudaProducts();

  std::unique_ptr<Product> create(const MatmulSpec &spec, const WeightLayout *layout);
  // The shapes that there are. What is the fastest algorithm of each of `own`, of those that the library
  // proposes, and has all products take (docs/DriverCUDA.md, "Products"). `arena` and `weights` are zero, and
  // stay so.
  std::set<std::string> keys() const;
  Choices fastest(const std::set<std::string> &own, const Buffer &arena, const Buffer &weights);
  void take(const Choices &choices);

  // What choices hold for: the kind of GPU and the version of the library.
  std::string machine() const;

  CudaDevice &device() { return device_; }
  const CublasLtLibrary &library() const { return library_; }
  cuda::cublasLtHandle_t handle() const { return handle_; }
  // Throws Error unless `status` is success.
  void expect(cuda::cublasStatus_t status, const std::string &what) const;

private:
  friend class CudaProduct;
  CudaDevice &device_;
  const CublasLtLibrary &library_;
  cuda::cublasLtHandle_t handle_ = nullptr;
  std::vector<CudaProduct *> living_; // in the order of creation
};

// All ranks take part. `products`: of this one; null: it has none.
void tuneProducts(CudaProducts *products, CudaDevice &device, const Buffer &arena, const Buffer &weights);

} // namespace tessera::runtime
#endif
