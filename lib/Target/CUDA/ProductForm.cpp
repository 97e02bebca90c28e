//===- ProductForm.cpp - products for cuBLASLt ------------------------------===//

#include "ProductForm.h"

#include "Alignment.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms/MatrixProduct.h"

using namespace mlir;

namespace tessera {
namespace {

/// Rows up to which a product is a tile like any other: its time is that of reading the weight, and no
/// library is faster. A tile multiplies by fma, so with weights of 16 bits, which come twice as fast and
/// which the library gives to the tensor cores, few rows are enough to be slower.
constexpr int64_t kTileRows = 8, kTileRowsOf16Bits = 2;

class ProductForm : public LibraryForm {
public:
  bool takes(Operation *op) const override { return matrixProduct(op).has_value(); }

  LogicalResult lower(Operation *op, KernelLowering &) const override {
    std::optional<MatrixProduct> product = matrixProduct(op);
    if (!product)
      return success();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    Type x = elementOf(product->x), w = elementOf(product->w), y = result.getElementType();
    bool tensorCores = x == w && x.getIntOrFloatBitWidth() == 16;
    if (product->m <= (tensorCores ? kTileRowsOf16Bits : kTileRows))
      return success(); // a tile, whatever the types
    OpBuilder builder(op);
    Type wide = builder.getF32Type();
    bool known = x == w && (x == y || y == wide);
    // float32 holds every product and sum as the library would: only what is stored in between is wider.
    auto widened = [&](Value value) -> Value {
      auto type = cast<RankedTensorType>(value.getType());
      if (x == w || type.getElementType() == wide)
        return value;
      return graph::CastOp::create(builder, op->getLoc(), type.clone(wide), value);
    };
    product->x = widened(product->x);
    product->w = widened(product->w);
    Value made = createMatmul(builder, op->getLoc(), *product, known ? result : result.clone(wide));
    if (made.getType() != result)
      made = graph::CastOp::create(builder, op->getLoc(), result, made);
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
    return success();
  }

private:
  static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
};

} // namespace

void addCUDAProductForm(LibraryForms &forms) {
  forms.add<graph::LinearOp>(std::make_unique<ProductForm>());
  forms.add<graph::EinsumOp>(std::make_unique<ProductForm>());
}

bool takesCUDAEpilogue(const ProductEpilogue &epilogue) {
  bool plain = !epilogue.biasAlignment && epilogue.function == ProductFunction::None;
  bool knownTypes = epilogue.x == epilogue.w && (epilogue.y == epilogue.x || (plain && epilogue.y.isF32()));
  return knownTypes && epilogue.biasAlignment.value_or(kLargestAccess) % kLargestAccess == 0;
}

} // namespace tessera
