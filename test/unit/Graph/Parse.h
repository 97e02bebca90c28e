//===- Parse.h - Programs as text, for tests -------------------*- C++ -*-===//
#ifndef TESSERA_TEST_UNIT_GRAPH_PARSE_H
#define TESSERA_TEST_UNIT_GRAPH_PARSE_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tessera::test {

/// One context for all programs of a test binary: values of two of them can be compared.
inline mlir::MLIRContext &testContext() {
  static mlir::MLIRContext context;
  return context;
}

/// A module parsed from text. `op<T>()` is the first op of a type.
struct Program {
  mlir::MLIRContext &context = testContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Program(llvm::StringRef text) {
    context.loadDialect<graph::GraphDialect, dist::DistDialect, mlir::func::FuncDialect,
                        mlir::arith::ArithDialect, mlir::math::MathDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      ADD_FAILURE() << "program does not parse: " << text.str();
  }
  template <typename T> T op() {
    T found;
    module->walk([&](T op) {
      found = op;
      return mlir::WalkResult::interrupt();
    });
    return found;
  }
  mlir::func::FuncOp func() { return op<mlir::func::FuncOp>(); }
};

} // namespace tessera::test
#endif
