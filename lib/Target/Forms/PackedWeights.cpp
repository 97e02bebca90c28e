//===- PackedWeights.cpp - ops that read packed weights -----------------------===//
//
// linear -> exec.matmul, embedding out of a packed table -> exec.gather_packed.
//
//===----------------------------------------------------------------------===//

#include "FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms.h"

using namespace mlir;

namespace tessera {
namespace {

/// A weight that is a packed parameter, or one layer of it.
struct PackedWeight {
  FlatSymbolRefAttr param;
  Value layer;
};

std::optional<PackedWeight> packedWeight(Value weight) {
  Value layer;
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
  return PackedWeight{FlatSymbolRefAttr::get(name), layer};
}

/// A product; on a packed weight if it may (`packs`) and the weight is a parameter.
class LinearForm : public LibraryForm {
public:
  explicit LinearForm(bool packs, int64_t tileRows = 0) : packs(packs), tileRows(tileRows) {}

  LogicalResult lower(Operation *self, KernelLowering &) const override {
    auto op = cast<graph::LinearOp>(self);
    OpBuilder builder(op);
    ArrayRef<int64_t> in = tensorOf(op.getInput()).getShape(), weight = tensorOf(op.getWeight()).getShape();
    int64_t contract = op.getContract();
    int64_t m = product(in.drop_back(contract)), k = product(in.take_back(contract)),
            n = product(weight.drop_back(contract));
    if (m <= tileRows)
      return success(); // a tile like any other
    Value out = exec::fresh(builder, op.getResult());
    Value plain;
    FlatSymbolRefAttr param;
    Value layer;
    if (std::optional<PackedWeight> packed = packedWeight(op.getWeight())) {
      param = packed->param;
      layer = packed->layer;
    } else {
      plain = op.getWeight();
    }
    auto call = exec::MatmulOp::create(builder, op.getLoc(), TypeRange(op.getType()),
                                       builder.getI64IntegerAttr(m), builder.getI64IntegerAttr(n),
                                       builder.getI64IntegerAttr(k), op.getInput(), plain, param, layer, out);
    op.replaceAllUsesWith(call.getResults()[0]);
    op.erase();
    return success();
  }

  std::optional<PackedUse> packedUse(OpOperand &operand) const override {
    auto op = cast<graph::LinearOp>(operand.getOwner());
    if (!packs || &operand != &op.getWeightMutable() || op.getInput() == op.getWeight())
      return std::nullopt;
    return PackedUse{tensorOf(op.getWeight()).getRank() - int64_t(op.getContract()), true};
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

void addMatmulForm(LibraryForms &forms, int64_t tileRows) {
  forms.add<graph::LinearOp>(std::make_unique<LinearForm>(/*packs=*/false, tileRows));
}

void addPackedWeightForms(LibraryForms &forms) {
  forms.add<graph::LinearOp>(std::make_unique<LinearForm>(/*packs=*/true));
  forms.add<graph::EmbeddingOp>(std::make_unique<EmbeddingForm>());
}

} // namespace tessera
