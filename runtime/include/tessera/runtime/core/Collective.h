// What collectives there are: one definition for the compiler, the manifest and the runtime. Plain data,
// header only.
#ifndef TESSERA_RUNTIME_CORE_COLLECTIVE_H
#define TESSERA_RUNTIME_CORE_COLLECTIVE_H

#include "tessera/runtime/io/DType.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The ways in which a value moves on a mesh.
enum class CollectiveKind : int32_t {
  AllReduce,         // partial values are combined
  AllGather,         // blocks of all ranks, one after another
  ReduceScatter,     // partial values are combined, each rank keeps one block
  AllToAll,          // block i goes to rank i
  CollectivePermute, // ranks exchange whole pieces
  GroupedSend,       // every rank gets what it lacks from those that have it, by messages of their own
  AllSlice,          // keeps this rank's piece; no communication, in no manifest
  Contribute,        // of each group one rank keeps the value (all do for a maximum); likewise
};

// How partial values are combined: io::ReduceOp, from the table of element types.
using Reduction = io::ReduceOp;

// The names in IR and manifest.
constexpr const char *collectiveName(CollectiveKind kind) {
  constexpr const char *names[] = {"all_reduce",         "all_gather",   "reduce_scatter", "all_to_all",
                                   "collective_permute", "grouped_send", "all_slice",      "contribute"};
  return names[int(kind)];
}
constexpr const char *reductionName(Reduction reduction) {
  return reduction == Reduction::Max ? "max" : reduction == Reduction::Sum ? "sum" : "none";
}
inline std::optional<CollectiveKind> collectiveFromName(std::string_view name) {
  for (int kind = 0; kind <= int(CollectiveKind::Contribute); ++kind)
    if (name == collectiveName(CollectiveKind(kind)))
      return CollectiveKind(kind);
  return std::nullopt;
}
inline std::optional<Reduction> reductionFromName(std::string_view name) {
  for (Reduction reduction : {Reduction::None, Reduction::Sum, Reduction::Max})
    if (name == reductionName(reduction))
      return reduction;
  return std::nullopt;
}

// Messages carry tags from 0 to this.
constexpr int64_t kLargestMessageTag = (1 << 20) - 1;

constexpr bool communicates(CollectiveKind kind) {
  return kind != CollectiveKind::AllSlice && kind != CollectiveKind::Contribute;
}
constexpr bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
}

// Elements of dst, from those of src, of a group of `group` ranks. GroupedSend: the layouts say it, not this.
// `cut`: elements that the longer side lacks (BlockRows).
constexpr int64_t resultElements(CollectiveKind kind, int64_t group, int64_t elements, int64_t cut = 0) {
  return kind == CollectiveKind::AllGather       ? elements * group - cut
         : kind == CollectiveKind::ReduceScatter ? (elements + cut) / group
                                                 : elements;
}

// How the blocks of an all_gather or reduce_scatter lie in its longer side (dst of the one, src of the
// other). A block has `rows` rows; row i of the longer side is row i of all blocks, one after another in
// group order. It ends after `whole` elements, which may cut off the last blocks, or leave nothing of them:
// what is cut off is padding, and does not travel.
struct BlockRows {
  int64_t rows, block, whole; // elements of a row of a block, and of the longer side

  // Elements that a row of the longer side has of the block of `member`.
  constexpr int64_t part(int64_t member) const {
    int64_t left = whole - member * block;
    return left < 0 ? 0 : left < block ? left : block;
  }
  constexpr bool isCut(int64_t group) const { return whole < group * block; }
};

// `elements`: of src.
constexpr BlockRows blockRows(CollectiveKind kind, int64_t group, int64_t elements, int64_t rows,
                              int64_t cut) {
  int64_t block = (kind == CollectiveKind::AllGather ? elements : (elements + cut) / group) / rows;
  return {rows, block, group * block - cut / rows};
}

// Whether blocks can lie so: rows are alike, and the first block is whole.
constexpr bool areBlockRows(CollectiveKind kind, int64_t group, int64_t elements, int64_t rows, int64_t cut) {
  if (kind != CollectiveKind::AllGather && kind != CollectiveKind::ReduceScatter)
    return rows == 1 && cut == 0;
  if (rows < 1 || cut < 0 || cut % rows != 0)
    return false;
  bool gathers = kind == CollectiveKind::AllGather;
  int64_t parts = gathers ? rows : group * rows, padded = gathers ? elements : elements + cut;
  return padded % parts == 0 && cut / rows <= (group - 1) * (padded / parts);
}

// Bytes that a rank of a group of `group` sends in one execution, in a ring, from the bytes of src.
// GroupedSend: `bytes` are those that the busiest rank sends or receives, whichever is more.
constexpr int64_t bytesSent(CollectiveKind kind, int64_t group, int64_t bytes) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (group - 1) * bytes / group;
  case CollectiveKind::AllGather:
    return (group - 1) * bytes;
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return (group - 1) * bytes / group;
  case CollectiveKind::CollectivePermute:
  case CollectiveKind::GroupedSend:
    return bytes;
  case CollectiveKind::AllSlice:
  case CollectiveKind::Contribute:
    return 0;
  }
  return 0;
}

} // namespace tessera
#endif
