// Kernels that do another one's work in another way, on some machines.
#ifndef TESSERA_TARGET_KERNELSIBLING_H
#define TESSERA_TARGET_KERNELSIBLING_H

#include "mlir/IR/Builders.h"

#include <string>

namespace tessera {

/// On a kernel: it is a sibling; a dictionary made of KernelSibling.
inline constexpr llvm::StringLiteral kSiblingAttr = "tessera.sibling";

/// A sibling NAME$FORM of kernel NAME: the same arguments, blocks of its own. The driver takes it where the
/// image has it and it is faster.
struct KernelSibling {
  mlir::FlatSymbolRefAttr kernel; ///< whose work it does
  int64_t count = 1;              ///< iterations of the launches that it stands for
  int64_t blocks = 1;             ///< of its own launch
  std::string key;                ///< siblings of equal keys are equally fast
  /// How both are tried: pseudo-random floating-point numbers where they only read; buffer number
  /// `ascending`, of i32, has rows of `row` numbers that ascend from `first` on; all else is 0.
  int64_t ascending = 0, row = 1, first = 0;

  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const {
    mlir::Builder b(context);
    return b.getDictionaryAttr(
        {b.getNamedAttr("kernel", kernel), b.getNamedAttr("count", b.getI64IntegerAttr(count)),
         b.getNamedAttr("blocks", b.getI64IntegerAttr(blocks)), b.getNamedAttr("key", b.getStringAttr(key)),
         b.getNamedAttr("ascending", b.getI64IntegerAttr(ascending)),
         b.getNamedAttr("row", b.getI64IntegerAttr(row)),
         b.getNamedAttr("first", b.getI64IntegerAttr(first))});
  }
  static KernelSibling of(mlir::DictionaryAttr attr) {
    auto number = [&](llvm::StringRef name) { return attr.getAs<mlir::IntegerAttr>(name).getInt(); };
    return {attr.getAs<mlir::FlatSymbolRefAttr>("kernel"),
            number("count"),
            number("blocks"),
            attr.getAs<mlir::StringAttr>("key").str(),
            number("ascending"),
            number("row"),
            number("first")};
  }
};

} // namespace tessera
#endif
