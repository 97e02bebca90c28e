//===- GroupedSends.h - Who sends what where pieces do not line up -*- C++ -*-===//
//
// From any sharding of a tensor to any other with the same partial axes, in one group of messages: every
// device takes what it has of its new piece from its old one and receives the rest, box by box. A box lies
// within one old and one new piece. Of several devices that hold a box the one sends that has the receiver's
// coordinates on all axes that do not split the old piece: copies share the work, and what a device has it
// takes from itself. Padding does not travel. All follows from the two shardings; nothing is listed per
// device. What arrives may be a part of the tensor (SentPart): a slice, sent to where its pieces belong.
// Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_GROUPEDSENDS_H
#define TESSERA_ANALYSIS_SHARDING_GROUPEDSENDS_H

#include "tessera/Analysis/Sharding/Sharding.h"

#include <initializer_list>

namespace tessera {

/// What is sent of a tensor of `shape`: the elements [begin, begin + size) of every dimension, as a tensor of
/// `size`. A shape alone stands for all of it. Refers to what it was made of.
struct SentPart {
  SentPart(llvm::ArrayRef<int64_t> shape) : shape(shape), size(shape) {}
  SentPart(const llvm::SmallVectorImpl<int64_t> &shape) : SentPart(llvm::ArrayRef<int64_t>(shape)) {}
  SentPart(std::initializer_list<int64_t> shape) : SentPart(llvm::ArrayRef<int64_t>(shape)) {}
  SentPart(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> size)
      : shape(shape), size(size), begin(begin) {}
  int64_t beginOf(size_t d) const { return begin.empty() ? 0 : begin[d]; }
  bool isAll(size_t d) const { return size[d] == shape[d]; }
  llvm::ArrayRef<int64_t> shape, size;

private:
  llvm::ArrayRef<int64_t> begin; ///< empty: zeros
};

/// Axes of the groups within which devices send to each other, sorted; empty if everybody has what it wants.
/// Axes of which both shardings make the same use, so that no message crosses them, are left out; not where a
/// part of a dimension is sent.
AxisList sendAxes(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to);

/// Of a dimension of `n` in pieces of `have`: as many a piece of `want` has a part of, at most. The first of
/// these begins at `begin`.
int64_t touchedPieces(int64_t n, int64_t have, int64_t want, int64_t begin = 0);

/// Messages that a device receives at most, one from each device that has a part of its new piece (itself
/// counted as one of them). From sizes alone: O(rank), whatever the mesh.
int64_t sendMessages(const SentPart &part, const Sharding &from, const Sharding &to);

/// Elements that the busiest device receives: what it lacks of its new piece. Exact where the axes that split
/// anything have up to 2^17 devices (some 50 ns each); else the size of a new piece, which no device exceeds.
double mostReceived(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to);

/// Elements that the busiest device sends: of a row that one device has and all want, as many as they receive
/// together. Exact where these devices receive up to 2^17 messages; else what no device exceeds, from sizes
/// alone.
double mostSent(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to);

/// Elements that the busiest device receives or sends, whichever is more.
double mostMoved(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to);

/// What the busiest of `samples` devices spread over the mesh lacks: no more than mostReceived.
double someReceived(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to,
                    int samples);

} // namespace tessera
#endif
