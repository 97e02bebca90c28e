#include "tessera/runtime/core/Sends.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

Shape localShape(const Shape &global, const Sharding &sharding) {
  Shape local(global.size());
  for (size_t d = 0; d < global.size(); ++d) {
    int64_t shards = shardCount(sharding[d]);
    local[d] = (global[d] + shards - 1) / shards;
  }
  return local;
}

std::vector<SentBox> boxesReceived(const Mesh &mesh, const CollectiveSpec &sends, int64_t receiver) {
  Shape have = localShape(sends.global, sends.from), want = localShape(sends.global, sends.to);
  std::vector<SentBox> boxes = {{receiver, {}, {}}};
  for (size_t d = 0; d < sends.global.size(); ++d) {
    ShardRange wanted = shardRange(sends.global[d], want[d], mesh.index(receiver, sends.to[d]));
    std::vector<SentBox> next;
    for (const SentBox &box : boxes)
      for (int64_t begin = wanted.begin; begin < wanted.end;) {
        int64_t shard = begin / have[d], end = std::min(wanted.end, (shard + 1) * have[d]);
        SentBox part = box;
        part.sender = mesh.member(part.sender, sends.from[d], shard);
        part.begin.push_back(begin);
        part.size.push_back(end - begin);
        next.push_back(std::move(part));
        begin = end;
      }
    boxes = std::move(next);
  }
  return boxes;
}

int64_t mostMoved(const Mesh &mesh, const CollectiveSpec &sends) {
  std::vector<int64_t> received(mesh.size(), 0), sent(mesh.size(), 0);
  for (int64_t rank = 0; rank < mesh.size(); ++rank)
    for (const SentBox &box : boxesReceived(mesh, sends, rank))
      if (box.sender != rank) {
        received[rank] += elementCount(box.size);
        sent[box.sender] += elementCount(box.size);
      }
  return std::max(*std::max_element(received.begin(), received.end()), *std::max_element(sent.begin(), sent.end()));
}

void copyBox(const void *src, const Shape &from, const Shape &fromBegin, void *dst, const Shape &to, const Shape &toBegin, const Shape &size,
             int64_t elementBytes) {
  // Rows of the last dimension; the others count like the digits of a number.
  int64_t rank = int64_t(size.size()), row = rank > 0 ? size[rank - 1] : 1, rows = row > 0 ? elementCount(size) / row : 0;
  Shape index(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0, target = 0;
    for (int64_t d = 0; d < rank; ++d) {
      at = at * from[d] + fromBegin[d] + index[d];
      target = target * to[d] + toBegin[d] + index[d];
    }
    memcpy(static_cast<char *>(dst) + target * elementBytes, static_cast<const char *>(src) + at * elementBytes, row * elementBytes);
    for (int64_t d = rank - 2; d >= 0; --d) {
      if (++index[d] < size[d])
        break;
      index[d] = 0;
    }
  }
}

void clearPadding(const std::vector<SentBox> &boxes, const Shape &local, void *dst, int64_t elementBytes) {
  int64_t filled = 0;
  for (const SentBox &box : boxes)
    filled += elementCount(box.size);
  if (filled < elementCount(local))
    memset(dst, 0, elementCount(local) * elementBytes);
}

Shape withinPiece(const Shape &begin, const Shape &local) {
  Shape within(begin.size());
  for (size_t d = 0; d < begin.size(); ++d)
    within[d] = begin[d] % local[d];
  return within;
}

} // namespace tessera::runtime
