//===- AttentionWindow.h - How far back attention looks ---------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_ATTENTIONWINDOW_H
#define TESSERA_DIALECT_GRAPH_IR_ATTENTIONWINDOW_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include <limits>

namespace tessera::graph {

/// The window of `op`, an attention or a gradient of one, as a number of the positions' type; none where it
/// hides no key. A window that is wider than every 32-bit position hides nothing: j > position - window holds
/// for all j from 0 on.
template <typename OpT> std::optional<int32_t> hidingWindow(OpT op) {
  std::optional<uint64_t> window = op.getWindow();
  if (!window || *window > uint64_t(std::numeric_limits<int32_t>::max()))
    return std::nullopt;
  return int32_t(*window);
}

} // namespace tessera::graph
#endif
