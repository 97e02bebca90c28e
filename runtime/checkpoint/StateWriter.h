//===- StateWriter.h - A rank's pieces of one file --------------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_CHECKPOINT_STATEWRITER_H
#define TESSERA_RUNTIME_CHECKPOINT_STATEWRITER_H

#include "tessera/runtime/checkpoint/Store.h"

namespace tessera::checkpoint {

/// Writes a rank's pieces of one file, and sums up each tensor's.
class StateWriter {
public:
  StateWriter(const StateFile &state, const FileLayout &layout, const runtime::Mesh &mesh, int64_t rank,
              OutputHandle &file, uint64_t *sums)
      : state_(state), layout_(layout), mesh_(mesh), rank_(rank), file_(file), sums_(sums) {}

  /// 0, or as of errno.
  int write();

private:
  int writeParam(int64_t number);
  int writeSource(const SourcePieces &source, int64_t tensor, const char *piece, int64_t element);
  Replica replicaOf(const runtime::ParamSpec &param);

  const StateFile &state_;
  const FileLayout &layout_;
  const runtime::Mesh &mesh_;
  int64_t rank_;
  OutputHandle &file_;
  uint64_t *sums_;
  std::vector<std::pair<const runtime::ParamSpec *, Replica>> replicas_;
};

} // namespace tessera::checkpoint
#endif
