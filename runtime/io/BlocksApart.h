// MXFP4 as safetensors have it: nibbles and exponents in two tensors, X_blocks and X_scales.
#ifndef TESSERA_RUNTIME_IO_BLOCKSAPART_H
#define TESSERA_RUNTIME_IO_BLOCKSAPART_H

#include "tessera/runtime/io/ModelFile.h"

namespace tessera::io {

// Makes one tensor of every two: of X_blocks, U8 [n..., blocks, 16], and X_scales, U8 [n..., blocks], one of
// MXFP4 [n..., 32 * blocks], called X_blocks, whose blocks are put together as they are read. What has other
// types or no partner stays as it is. `where`: the directory or file. An error: partners whose shapes
// contradict each other.
Status joinBlocksAndScales(std::vector<TensorInfo> &tensors, const std::string &where);

} // namespace tessera::io
#endif
