#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime {

static bool movesPieces(const CollectiveSpec &c) {
  return c.kind == CollectiveKind::GroupedSend || c.kind == CollectiveKind::CollectivePermute;
}

static Transfers transfersOf(const Mesh &mesh, const CollectiveSpec &c, int64_t rank) {
  if (c.kind == CollectiveKind::GroupedSend)
    return groupedSend(mesh, c.global, c.from, c.to, rank);
  return c.mirrored.empty() ? permute(mesh, c.elements, c.from, c.to, rank)
                            : mirror(mesh, c.elements, c.mirrored, rank);
}

ProgramCollectives::ProgramCollectives(const Manifest &manifest, Communicator &comm)
    : manifest_(manifest), comm_(comm) {
  const Mesh &mesh = manifest.mesh;
  std::vector<RankGroup> groups;
  for (const AxisList &axes : manifest.groups) {
    indices_.push_back(mesh.index(comm.rank(), axes));
    groups.push_back({mesh.group(comm.rank(), axes), indices_.back()});
  }
  comm.setGroups(std::move(groups));
  for (size_t id = 0; id < manifest.collectives.size(); ++id) {
    const CollectiveSpec &c = manifest.collectives[id];
    const AxisList &group = manifest.groups[c.group];
    transfers_.push_back(movesPieces(c) ? transfersOf(mesh, c, comm.rank()) : Transfers());
    if (movesPieces(c))
      comm.announce(transfers_.back(), c.type);
    blocks_.push_back({c.kind, c.op, c.type, c.group, c.elements, c.rows, c.cut});
    for (const std::vector<BoxTransfer> *list : {&transfers_.back().goes, &transfers_.back().comes})
      for (const BoxTransfer &transfer : *list)
        if (mesh.member(comm.rank(), group, mesh.index(transfer.peer, group)) != transfer.peer)
          throw Error("cannot read the program's manifest",
                      "collective " + std::to_string(id) + " " + collectiveName(c.kind),
                      "rank " + std::to_string(comm.rank()) + " exchanges data with rank " +
                          std::to_string(transfer.peer) + ", which is not in its group",
                      "compile the program again with this version of llm-compile");
  }
}

int64_t stagingBytes(const Manifest &manifest, int64_t rank, const World &world) {
  int64_t most = 0;
  if (World::StagingBytes bytes = world.stagingBytes())
    for (const CollectiveSpec &c : manifest.collectives)
      if (movesPieces(c))
        most = std::max(most, bytes(transfersOf(manifest.mesh, c, rank), c.type));
  return most;
}

void ProgramCollectives::countSent(int32_t id) {
  const CollectiveSpec &c = manifest_.collectives[id];
  int64_t &sent = sent_[c.kind];
  if (!movesPieces(c)) {
    const BlockCollective &block = blocks_[id];
    sent += bytesSent(block.kind, shardCount(manifest_.groups[block.group]),
                      io::bytesOf(block.type, block.elements));
    return;
  }
  for (const BoxTransfer &transfer : transfers_[id].goes)
    if (transfer.peer != comm_.rank())
      sent += io::bytesOf(c.type, elementCount(transfer.box.size));
}

CommToken ProgramCollectives::start(int32_t id, const void *src, void *dst, Stream &stream) {
  countSent(id);
  const CollectiveSpec &c = manifest_.collectives[id];
  if (movesPieces(c))
    return comm_.start(transfers_[id], c.group, c.type, src, dst, stream, id);
  return comm_.start(blocks_[id], src, dst, stream, id);
}

void ProgramCollectives::run(int32_t id, const void *src, void *dst, Stream &stream) {
  if (movesPieces(manifest_.collectives[id])) {
    comm_.wait(start(id, src, dst, stream), stream);
    return;
  }
  countSent(id);
  comm_.run(blocks_[id], src, dst, stream, id);
}

int64_t ProgramCollectives::peer(int32_t group, int64_t index) const {
  const AxisList &axes = manifest_.groups[group];
  if (index < 0 || index >= shardCount(axes))
    throw Error("cannot communicate", "message of rank " + std::to_string(comm_.rank()),
                "its group has no member " + std::to_string(index) + " of " +
                    std::to_string(shardCount(axes)),
                "look at the exec.send or exec.receive");
  return manifest_.mesh.member(comm_.rank(), axes, index);
}

CommToken ProgramCollectives::send(int32_t group, int64_t index, int64_t tag, const void *src, size_t bytes,
                                   Stream &stream) {
  return comm_.send(peer(group, index), tag, src, bytes, stream);
}

CommToken ProgramCollectives::receive(int32_t group, int64_t index, int64_t tag, void *dst, size_t bytes,
                                      Stream &stream) {
  return comm_.receive(peer(group, index), tag, dst, bytes, stream);
}

} // namespace tessera::runtime
