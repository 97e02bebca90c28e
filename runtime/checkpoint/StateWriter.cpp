#include "StateWriter.h"

#include "PieceWriter.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>

namespace tessera::checkpoint {

using runtime::ParamSpec;

int StateWriter::write() {
  for (size_t p = 0; p < state_.params->size(); ++p)
    if (int error = writeParam(int64_t(p)))
      return error;
  return 0;
}

int StateWriter::writeParam(int64_t number) {
  const ParamSpec &param = (*state_.params)[size_t(number)];
  if (!runtime::holds(param, mesh_, rank_))
    return 0;
  const Replica replica = replicaOf(param);
  std::vector<SourcePieces> sources;
  for (size_t s = 0; s < param.sources.size(); ++s)
    sources.emplace_back(param, s, mesh_, rank_);
  for (int64_t layer = 0; layer < std::max<int64_t>(param.layers, 1); ++layer) {
    if ((number + layer) % replica.count != replica.index)
      continue; // the copies share the work
    const char *piece = static_cast<const char *>(state_.piece(number, layer));
    for (size_t s = 0; s < sources.size(); ++s) {
      int64_t tensor = layout_.find(runtime::tensorName(param, param.sources[s], layer));
      if (int error = writeSource(sources[s], tensor, piece, io::blockBytes(param.dtype)))
        return error;
    }
  }
  return 0;
}

int StateWriter::writeSource(const SourcePieces &source, int64_t tensor, const char *piece, int64_t element) {
  PieceWriter writer(file_, layout_.tensors[size_t(tensor)]);
  bool written = source.visit([&](int64_t place, int64_t local, int64_t stride, int64_t count) {
    return writer.add(place, piece + local * element, stride, count);
  });
  if (!written || !writer.flush())
    return writer.error();
  sums_[tensor] += writer.sum();
  return 0;
}

// Looks at every rank, so once for each way to lie on them.
Replica StateWriter::replicaOf(const ParamSpec &param) {
  for (const auto &[of, replica] : replicas_)
    if (of->sharding == param.sharding && of->heldAlong == param.heldAlong && of->heldAt == param.heldAt)
      return replica;
  replicas_.emplace_back(&param, checkpoint::replicaOf(param, mesh_, rank_));
  return replicas_.back().second;
}

} // namespace tessera::checkpoint
