// Model files carried at the end of an executable (`llm-compile --embed-weights`).
//
// Layout, after the executable's own bytes: the magic "TSRBGN01", every file page-aligned (4096), then a
// table of entries, then a 24-byte trailer: u64 offset of the table, u64 its bytes, and the magic "TSRWGT01"
// as the file's last 8 bytes. The table is JSON:
// {"format": "huggingface" | "safetensors" | "gguf", "files": [{"name", "offset", "bytes"}, ...]}.
// Read back with ModelFile::openEmbedded.
#ifndef TESSERA_RUNTIME_IO_EMBED_H
#define TESSERA_RUNTIME_IO_EMBED_H

#include "tessera/runtime/Result.h"

#include <string>

namespace tessera::io {

// Appends the files of the model at `modelPath` (for a Hugging Face directory: the texts that ModelFile::text
// knows, the index and the shards it names; else the one file) to `executablePath`, which must not carry a
// model yet. On failure the executable is cut back to its old size. Cost: one copy of the files through the
// page cache, no anonymous memory.
Status embedModel(const std::string &executablePath, const std::string &modelPath);

} // namespace tessera::io
#endif
