//===- ProductForm.cpp - products for cuBLASLt ------------------------------===//

#include "ProductForm.h"

#include "Alignment.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms/MatrixProduct.h"

using namespace mlir;

namespace tessera {
namespace {

class ProductForm : public LibraryForm {
public:
  explicit ProductForm(int64_t tileRows) : tileRows(tileRows) {}

  bool takes(Operation *op) const override { return matrixProduct(op).has_value(); }

  LogicalResult lower(Operation *op, KernelLowering &) const override {
    std::optional<MatrixProduct> product = matrixProduct(op);
    if (!product || product->m <= tileRows)
      return success(); // a tile like any other, whatever the types
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    Type x = elementOf(product->x), w = elementOf(product->w), y = result.getElementType();
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
  int64_t tileRows;
};

} // namespace

void addCUDAProductForm(LibraryForms &forms, int64_t tileRows) {
  forms.add<graph::LinearOp>(std::make_unique<ProductForm>(tileRows));
  forms.add<graph::EinsumOp>(std::make_unique<ProductForm>(tileRows));
}

bool takesCUDAEpilogue(const ProductEpilogue &epilogue) {
  bool plain = !epilogue.biasAlignment && epilogue.function == ProductFunction::None;
  bool knownTypes = epilogue.x == epilogue.w && (epilogue.y == epilogue.x || (plain && epilogue.y.isF32()));
  return knownTypes && epilogue.biasAlignment.value_or(kLargestAccess) % kLargestAccess == 0;
}

} // namespace tessera
