#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Error.h"

namespace tessera::runtime {

void Communicator::checkBlocks(const BlockCollective &collective, int64_t members) {
  if (!areBlockRows(collective.kind, members, collective.elements, collective.rows, collective.cut))
    throw Error("cannot communicate", collectiveName(collective.kind),
                std::to_string(collective.elements) + " elements, of which " +
                    std::to_string(collective.cut) + " are cut off, are not " +
                    std::to_string(collective.rows) + " rows of the blocks of " + std::to_string(members) +
                    " ranks",
                "compile the program again with this version of llm-compile");
  if (collective.kind == CollectiveKind::AllToAll && collective.elements % members != 0)
    throw Error("cannot communicate", collectiveName(collective.kind),
                std::to_string(collective.elements) + " elements do not divide by " +
                    std::to_string(members) + " ranks",
                "compile the program again with this version of llm-compile");
  if (reduces(collective.kind) && !io::traits(collective.type).reduce)
    throw Error("cannot communicate", collectiveName(collective.kind),
                std::string(io::dtypeName(collective.type)) + " cannot be added up",
                "compile the program again with this version of llm-compile");
}

CommToken Communicator::start(const RowExchange &, const void *, const int32_t *, void *, Stream &, int32_t) {
  throw Error("cannot communicate", "exchange of rows",
              "on this device the host does not know how many go where", "compile for --target=cpu");
}

void Communicator::checkMessage(int64_t peer, int64_t tag) const {
  if (tag < 0 || tag > kLargestMessageTag || peer < 0 || peer >= ranks_ || peer == rank_)
    throw Error("cannot communicate", "message of rank " + std::to_string(rank_),
                "rank " + std::to_string(peer) + " or tag " + std::to_string(tag) + " is out of range",
                "use another rank of the mesh, and tags below 2^20");
}

} // namespace tessera::runtime
