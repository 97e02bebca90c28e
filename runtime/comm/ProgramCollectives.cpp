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
    return groupedSend(mesh, c.global, c.from, c.to, rank,
                       {c.at.empty() ? Shape(c.global.size(), 0) : c.at, c.sentSizes()});
  return c.mirrored.empty() ? permute(mesh, c.elements, c.from, c.to, rank)
                            : mirror(mesh, c.elements, c.mirrored, rank);
}

std::vector<RankGroup> ProgramCollectives::groups(const Manifest &manifest, int64_t rank) {
  std::vector<RankGroup> groups;
  for (const AxisList &axes : manifest.groups)
    groups.push_back({manifest.mesh.group(rank, axes), manifest.mesh.index(rank, axes)});
  return groups;
}

ProgramCollectives::ProgramCollectives(const Manifest &manifest, Communicator &comm, int64_t firstGroup,
                                       int32_t firstName)
    : manifest_(manifest), comm_(comm), firstGroup_(firstGroup), firstName_(firstName) {
  const Mesh &mesh = manifest.mesh;
  for (const AxisList &axes : manifest.groups)
    indices_.push_back(mesh.index(comm.rank(), axes));
  for (size_t id = 0; id < manifest.collectives.size(); ++id) {
    const CollectiveSpec &c = manifest.collectives[id];
    const AxisList &group = manifest.groups[c.group];
    transfers_.push_back(movesPieces(c) ? transfersOf(mesh, c, comm.rank()) : Transfers());
    if (movesPieces(c))
      comm.announce(transfers_.back(), c.type);
    blocks_.push_back({c.kind, c.op, c.type, firstGroup + c.group, c.elements, c.rows, c.cut});
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
  if (c.width > 0) {
    sent += bytesSent(manifest_, c);
    return;
  }
  if (!movesPieces(c)) {
    const BlockCollective &block = blocks_[id];
    sent +=
        bytesSent(block.kind, shardCount(manifest_.groups[c.group]), io::bytesOf(block.type, block.elements));
    return;
  }
  for (const BoxTransfer &transfer : transfers_[id].goes)
    if (transfer.peer != comm_.rank())
      sent += io::bytesOf(c.type, elementCount(transfer.box.size));
}

CommToken ProgramCollectives::begun(CommToken token, int32_t id) {
  open_.emplace(token, id);
  return token;
}

CommToken ProgramCollectives::start(int32_t id, const void *src, void *dst, Stream &stream) {
  countSent(id);
  const CollectiveSpec &c = manifest_.collectives[id];
  if (movesPieces(c))
    return begun(
        comm_.start(transfers_[id], firstGroup_ + c.group, c.type, src, dst, stream, firstName_ + id), id);
  return begun(comm_.start(blocks_[id], src, dst, stream, firstName_ + id), id);
}

void ProgramCollectives::wait(CommToken token, Stream &stream) {
  comm_.wait(token, stream);
  open_.erase(token);
}

void ProgramCollectives::expectAllWaitedFor() {
  if (open_.empty())
    return;
  int32_t id = open_.begin()->second;
  throw Error("cannot go on", id >= 0 ? "collective " + std::to_string(id) : std::string("a message"),
              "rank " + std::to_string(comm_.rank()) + " started it and never waited for it",
              "look for the exec.wait that is missing");
}

void ProgramCollectives::run(int32_t id, const void *src, void *dst, Stream &stream) {
  if (movesPieces(manifest_.collectives[id])) {
    wait(start(id, src, dst, stream), stream);
    return;
  }
  countSent(id);
  comm_.run(blocks_[id], src, dst, stream, firstName_ + id);
}

void ProgramCollectives::exchangeRows(int32_t id, const void *src, const int32_t *counts, void *dst,
                                      Stream &stream) {
  countSent(id);
  const CollectiveSpec &c = manifest_.collectives[id];
  RowExchange exchange = {c.type, firstGroup_ + c.group, c.width, c.elements / c.width, c.received / c.width};
  wait(begun(comm_.start(exchange, src, counts, dst, stream, firstName_ + id), id), stream);
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
  return begun(comm_.send(peer(group, index), tag, src, bytes, stream), -1);
}

CommToken ProgramCollectives::receive(int32_t group, int64_t index, int64_t tag, void *dst, size_t bytes,
                                      Stream &stream) {
  return begun(comm_.receive(peer(group, index), tag, dst, bytes, stream), -1);
}

} // namespace tessera::runtime
