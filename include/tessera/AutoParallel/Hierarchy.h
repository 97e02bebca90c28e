//===- Hierarchy.h - Collectives within nodes and between them --*- C++ -*-===//
//
// A collective whose groups lie on several nodes can be done in stages: over the digits of its axes that stay
// on a node, and over those that go between nodes. So most bytes go over the faster link:
//
//   all_gather      between nodes while pieces are small, then within
//   reduce_scatter  within, then what is left between
//   all_reduce      scattered within, the pieces reduced between, gathered within; of little, or
//                   where no dimension divides, reduced within, then between
//
// An all_to_all stays whole: it sends every piece straight to its reader, and stages would send it twice.
// Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_HIERARCHY_H
#define TESSERA_AUTOPARALLEL_HIERARCHY_H

#include "tessera/AutoParallel/Machine.h"

namespace tessera {

/// The plan with collectives in stages wherever planTime says that these take less time; the rest as it is.
/// Dimensions that do not divide are neither cut nor put together in stages, nor are elements of a fraction
/// of a byte: they are held in blocks, which a cut could go through.
ReshardPlan stageAtNodes(const Machine &machine, const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                         double elementBytes, const Sharding &from, ReshardPlan plan);

} // namespace tessera
#endif
