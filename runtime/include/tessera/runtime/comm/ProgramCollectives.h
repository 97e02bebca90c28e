// The collectives of a program on one rank: what abi.h's functions call, by number in the manifest.
#ifndef TESSERA_RUNTIME_COMM_PROGRAMCOLLECTIVES_H
#define TESSERA_RUNTIME_COMM_PROGRAMCOLLECTIVES_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Manifest.h"

#include <map>

namespace tessera::runtime {

class ProgramCollectives {
public:
  // Finds out with whom this rank exchanges what: in time linear in what it sends and receives. The groups of
  // the manifest are to be known to `comm` before anything is started, from number `firstGroup` on;
  // `firstName` is what the board shows of collective 0. Throws Error if a message would leave its group.
  // `manifest` and `comm` must outlive the object.
  ProgramCollectives(const Manifest &manifest, Communicator &comm, int64_t firstGroup = 0,
                     int32_t firstName = 0);
  // The groups of `manifest`, as Communicator::setGroups takes them.
  static std::vector<RankGroup> groups(const Manifest &manifest, int64_t rank);

  Communicator &comm() { return comm_; }
  // This rank's place in manifest.groups[group].
  int64_t groupIndex(int64_t group) const { return indices_[group]; }

  // manifest.collectives[id].
  void run(int32_t id, const void *src, void *dst, Stream &stream);
  CommToken start(int32_t id, const void *src, void *dst, Stream &stream);
  // The same of one that exchanges rows: `counts` as in RowExchange.
  void exchangeRows(int32_t id, const void *src, const int32_t *counts, void *dst, Stream &stream);
  // Messages to and from member `index` of manifest.groups[group].
  CommToken send(int32_t group, int64_t index, int64_t tag, const void *src, size_t bytes, Stream &stream);
  CommToken receive(int32_t group, int64_t index, int64_t tag, void *dst, size_t bytes, Stream &stream);
  void wait(CommToken token, Stream &stream);
  // At the end of an entry. Throws Error if something was started here and not waited for: messages beside
  // the program may still be on their way.
  void expectAllWaitedFor();
  // Bytes that this rank has sent in collectives since the object was made, by kind: of blocks as they were
  // given to the communicator, in a ring (core/Collective.h), of pieces what leaves the rank, of rows by
  // counts what would leave it at even routing.
  const std::map<CollectiveKind, int64_t> &sent() const { return sent_; }
  // The entry has given all its work to `stream`, its collectives' included.
  void endEntry(Stream &stream) { comm_.endEntry(stream); }

private:
  int64_t peer(int32_t group, int64_t index) const;
  void countSent(int32_t id);

  CommToken begun(CommToken token, int32_t id);

  const Manifest &manifest_;
  Communicator &comm_;
  int64_t firstGroup_;
  int32_t firstName_;
  std::map<CommToken, int32_t> open_;   // what is not waited for, and the collective that it is of, or -1
  std::vector<int64_t> indices_;        // by group
  std::vector<Transfers> transfers_;    // by collective; of those that work on pieces
  std::vector<BlockCollective> blocks_; // by collective; of the others
  std::map<CollectiveKind, int64_t> sent_;
};

class World;
// Device memory that the communicator of `rank` holds for the program's collectives. Needs no device.
int64_t stagingBytes(const Manifest &manifest, int64_t rank, const World &world);

} // namespace tessera::runtime
#endif
