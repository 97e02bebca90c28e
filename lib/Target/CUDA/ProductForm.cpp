//===- ProductForm.cpp - products for cuBLASLt ------------------------------===//

#include "ProductForm.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms.h"

using namespace mlir;

namespace tessera {
namespace {

class ProductForm : public LibraryForm {
public:
  ProductForm() { addMatmulForm(products); }

  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::LinearOp>(self);
    Type x = elementOf(op.getInput()), w = elementOf(op.getWeight()), y = elementOf(op.getResult());
    if (x == w && (x == y || y.isF32()))
      return products.find(op)->lower(op, lowering);
    // float32 holds every product and sum as the library would: only what is stored in between is wider.
    OpBuilder builder(op);
    Type wide = builder.getF32Type();
    auto widened = [&](Value value) -> Value {
      auto type = cast<RankedTensorType>(value.getType());
      if (x == w || type.getElementType() == wide)
        return value;
      return graph::CastOp::create(builder, op.getLoc(), type.clone(wide), value);
    };
    auto result = cast<RankedTensorType>(op.getType());
    auto product = graph::LinearOp::create(builder, op.getLoc(), result.clone(wide), widened(op.getInput()),
                                           widened(op.getWeight()), op.getContractAttr());
    Value narrow = product;
    if (y != wide)
      narrow = graph::CastOp::create(builder, op.getLoc(), result, product);
    op.replaceAllUsesWith(narrow);
    op.erase();
    return products.find(product)->lower(product, lowering);
  }

private:
  static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
  LibraryForms products;
};

} // namespace

void addCUDAProductForm(LibraryForms &forms) { forms.add<graph::LinearOp>(std::make_unique<ProductForm>()); }

} // namespace tessera
