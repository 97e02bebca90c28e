// Programs of rung exec with one thing changed that has to do with order.
#ifndef TESSERA_TEST_TARGET_STREAMS_MUTATIONS_H
#define TESSERA_TEST_TARGET_STREAMS_MUTATIONS_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::test {

struct Mutation {
  std::string kind;                          ///< "a wait is gone"
  std::string where;                         ///< "decode, line 17: exec.event_wait"
  std::function<void(mlir::ModuleOp)> apply; ///< to a clone of the module
};

/// All of them: each event op goes, moves by one op or names another event; each op that a stream is given
/// goes to the other stream; each buffer begins 64 bytes before, 64 after or where another begins; each two
/// neighbours that communicate change places.
std::vector<Mutation> mutationsOf(mlir::ModuleOp module);

} // namespace tessera::test
#endif
