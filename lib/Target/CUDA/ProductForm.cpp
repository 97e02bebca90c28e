//===- ProductForm.cpp - products for cuBLASLt ------------------------------===//

#include "ProductForm.h"

#include "Alignment.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms.h"

using namespace mlir;

namespace tessera {
namespace {

class ProductForm : public LibraryForm {
public:
  explicit ProductForm(int64_t tileRows) : tileRows(tileRows) { addMatmulForm(products); }

  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::LinearOp>(self);
    auto rows = cast<RankedTensorType>(op.getInput().getType()).getShape().drop_back(op.getContract());
    if (product(rows) <= tileRows)
      return success(); // a tile like any other, whatever the types
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
    auto wideProduct =
        graph::LinearOp::create(builder, op.getLoc(), result.clone(wide), widened(op.getInput()),
                                widened(op.getWeight()), op.getContractAttr());
    Value narrow = wideProduct;
    if (y != wide)
      narrow = graph::CastOp::create(builder, op.getLoc(), result, wideProduct);
    op.replaceAllUsesWith(narrow);
    op.erase();
    return products.find(wideProduct)->lower(wideProduct, lowering);
  }

private:
  static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
  int64_t tileRows;
  LibraryForms products;
};

} // namespace

void addCUDAProductForm(LibraryForms &forms, int64_t tileRows) {
  forms.add<graph::LinearOp>(std::make_unique<ProductForm>(tileRows));
}

bool takesCUDAEpilogue(const ProductEpilogue &epilogue) {
  bool plain = !epilogue.biasAlignment && epilogue.function == ProductFunction::None;
  bool knownTypes = epilogue.x == epilogue.w && (epilogue.y == epilogue.x || (plain && epilogue.y.isF32()));
  return knownTypes && epilogue.biasAlignment.value_or(kLargestAccess) % kLargestAccess == 0;
}

} // namespace tessera
