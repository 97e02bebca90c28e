//===- DecoderNames.h - What most decoders call their weights ---*- C++ -*-===//
//
// Most families name their tensors as Llama does, and GGUF names all alike. A page adds what its family has
// besides, or replaces a line: of two lines for one parameter the last one counts.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_DECODERNAMES_H
#define TESSERA_IMPORT_DECODERNAMES_H

#include "tessera/Import/WeightTable.h"

namespace tessera::importer {

/// `model.layers.{}.self_attn.q_proj.weight` and so on, as transformers has them, and `more`.
WeightTable huggingFaceNames(llvm::ArrayRef<WeightName> more = {});

/// `blk.{}.attn_q.weight` and so on, and `more`. `queries`: how rows of q and k lie: some converters permute
/// them.
WeightTable ggufNames(StorageOrder queries, llvm::ArrayRef<WeightName> more = {});

} // namespace tessera::importer
#endif
