// Global arrays to and from the shards that ranks hold.
#ifndef TESSERA_RUNTIME_APP_BUFFERS_H
#define TESSERA_RUNTIME_APP_BUFFERS_H

#include "tessera/runtime/core/Manifest.h"

#include <cstdint>

namespace tessera::runtime {

// The shard of `rank`: local[...] = global[...], and the element at `padding` where the shard reaches beyond
// the global shape. Elements are of the buffer's type, one by one (no blocks).
void takeShard(const BufferSpec &spec, const Mesh &mesh, int64_t rank, const void *global,
               const void *padding, void *local);

// The same for one row of an array whose first dimension has rows: local[...] = global[...], both without
// that dimension. Returns which row of the shard it is; -1: `rank` has nothing of it, and nothing is written.
int64_t takeRow(const BufferSpec &spec, const Mesh &mesh, int64_t rank, int64_t row, const void *global,
                const void *padding, void *local);

// Writes what the shard of `rank` holds of the global array into it.
void placeShard(const BufferSpec &spec, const Mesh &mesh, int64_t rank, const void *local, void *global);

bool isReplicated(const BufferSpec &spec);

} // namespace tessera::runtime
#endif
