//===- GroupedSends.h - Who sends what where pieces do not line up -*- C++ -*-===//
//
// From any sharding of a tensor to any other with the same partial axes, in one group of messages: every
// device takes what it has of its new piece from its old one and receives the rest, box by box. A box lies
// within one old and one new piece. Of several devices that hold a box the one sends that has the receiver's
// coordinates on all axes that do not split the old piece: copies share the work, and what a device has it
// takes from itself. Padding does not travel. All follows from the two shardings; nothing is listed per
// device. Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_GROUPEDSENDS_H
#define TESSERA_ANALYSIS_SHARDING_GROUPEDSENDS_H

#include "tessera/Analysis/Sharding/Sharding.h"

namespace tessera {

/// Axes of the groups within which devices send to each other, sorted; empty if everybody has what it wants.
/// Axes of which both shardings make the same use, so that no message crosses them, are left out.
AxisList sendAxes(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to);

/// Of a dimension of `n` in pieces of `have`: as many a piece of `want` has a part of, at most.
int64_t touchedPieces(int64_t n, int64_t have, int64_t want);

/// Messages that a device receives at most, one from each device that has a part of its new piece (itself
/// counted as one of them). From sizes alone: O(rank), whatever the mesh.
int64_t sendMessages(llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to);

/// Elements that the busiest device receives: what it lacks of its new piece. Exact where the axes that split
/// anything have up to 2^17 devices (some 50 ns each); else the size of a new piece, which no device exceeds.
double mostReceived(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                    const Sharding &to);

/// Elements that the busiest device sends: of a row that one device has and all want, as many as they receive
/// together. Exact where these devices receive up to 2^17 messages; else what no device exceeds, from sizes
/// alone.
double mostSent(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to);

/// Elements that the busiest device receives or sends, whichever is more.
double mostMoved(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to);

/// What the busiest of `samples` devices spread over the mesh lacks: no more than mostReceived.
double someReceived(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to,
                    int samples);

} // namespace tessera
#endif
