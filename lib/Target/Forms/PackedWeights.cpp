//===- PackedWeights.cpp - ops that read packed weights -----------------------===//
//
// linear, einsum -> exec.matmul, embedding out of a packed table -> exec.gather_packed.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms.h"
#include "tessera/Target/Forms/MatrixProduct.h"
#include "tessera/Target/Forms/PackedWeight.h"

using namespace mlir;

namespace tessera {

std::optional<PackedWeight> packedWeight(Value weight) {
  Value layer;
  // Pieces stand for the array that they would be.
  if (auto stand = weight.getDefiningOp<UnrealizedConversionCastOp>()) {
    Value pieces = stand.getOperand(0);
    auto gather = pieces.getDefiningOp<exec::CollectiveOp>();
    auto held = gather ? exec::rootOf(gather.getInput()).getDefiningOp<exec::ParamOp>() : exec::ParamOp();
    return held ? std::optional(PackedWeight{held.getParamAttr(), {}, pieces}) : std::nullopt;
  }
  if (auto view = weight.getDefiningOp<exec::LayerOp>()) {
    layer = view.getIndex();
    weight = view.getStack();
  }
  auto arg = dyn_cast<BlockArgument>(weight);
  auto func = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : nullptr;
  if (!func)
    return std::nullopt;
  if (graph::argumentKind(arg) != graph::Kind::Parameter)
    return std::nullopt;
  auto name = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
  return PackedWeight{FlatSymbolRefAttr::get(name), layer, {}};
}

namespace {

/// A product of matrices; on a packed weight if it may (`packs`) and the weight is a parameter.
class ProductForm : public LibraryForm {
public:
  explicit ProductForm(bool packs, int64_t tileRows = 0) : packs(packs), tileRows(tileRows) {}

  bool takes(Operation *op) const override { return matrixProduct(op).has_value(); }

  LogicalResult lower(Operation *op, KernelLowering &) const override {
    std::optional<MatrixProduct> product = matrixProduct(op);
    if (!product || product->m <= tileRows)
      return success(); // a tile like any other
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<PackedWeight> packed = packedWeight(product->w);
    Value result = packed ? createMatmul(builder, op->getLoc(), *product, type, *packed)
                          : createMatmul(builder, op->getLoc(), *product, type);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }

  std::optional<PackedUse> packedUse(OpOperand &operand) const override {
    auto op = dyn_cast<graph::LinearOp>(operand.getOwner());
    if (!op || !packs || &operand != &op.getWeightMutable() || op.getInput() == op.getWeight())
      return std::nullopt;
    return PackedUse{tensorOf(op.getWeight()).getRank() - int64_t(op.getContract()), true, /*gathered=*/true};
  }

private:
  bool packs;
  int64_t tileRows; ///< of a plain weight; packed ones are the library's
};

struct EmbeddingForm : LibraryForm {
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::EmbeddingOp>(self);
    std::optional<PackedWeight> packed = packedWeight(op.getTable());
    if (!packed)
      return success(); // a plain table: a kernel like any other
    OpBuilder builder(op);
    Value shard = lowering.shardIndex(op, lowering.shardAxes(tensorOf(op.getTable()), 0));
    auto call =
        exec::GatherPackedOp::create(builder, op.getLoc(), TypeRange(op.getType()), packed->param,
                                     op.getIds(), packed->layer, shard, exec::fresh(builder, op.getResult()));
    op.replaceAllUsesWith(call.getResults()[0]);
    op.erase();
    return success();
  }

  std::optional<PackedUse> packedUse(OpOperand &operand) const override {
    auto op = cast<graph::EmbeddingOp>(operand.getOwner());
    if (&operand != &op.getTableMutable() || tensorOf(op.getTable()).getRank() != 2)
      return std::nullopt;
    return PackedUse{1, false};
  }
};

} // namespace

static void addProducts(LibraryForms &forms, bool packs, int64_t tileRows) {
  forms.add<graph::LinearOp>(std::make_unique<ProductForm>(packs, tileRows));
  forms.add<graph::EinsumOp>(std::make_unique<ProductForm>(packs, tileRows));
}

void addMatmulForm(LibraryForms &forms, int64_t tileRows) { addProducts(forms, /*packs=*/false, tileRows); }

void addPackedWeightForms(LibraryForms &forms) {
  addProducts(forms, /*packs=*/true, /*tileRows=*/0);
  forms.add<graph::EmbeddingOp>(std::make_unique<EmbeddingForm>());
}

} // namespace tessera
