// Texts as training data: tokenized once, and kept.
#ifndef TESSERA_RUNTIME_DATA_TOKENTEXT_H
#define TESSERA_RUNTIME_DATA_TOKENTEXT_H

#include "tessera/runtime/data/TokenRows.h"

namespace tessera::data {

// The file with the ids of the text at `path` (UTF-8, at most 1 GiB), by the tokenizer of `model`: a .bin
// with llm.c's header and 32-bit ids, named NAME.tokens-KEY.bin, where KEY is a function of the text's bytes
// and of the tokenizer. Looked for beside the text, then in `cacheFolder`; where it is in neither the text is
// tokenized, and the file made beside it, or in `cacheFolder` if that may not be written. Several processes
// may do so at once: each finds or makes the same whole file.
Result<std::string> tokenizeFile(const std::string &path, const io::ModelFile &model,
                                 const std::string &cacheFolder);

// $XDG_CACHE_HOME/tessera, or $HOME/.cache/tessera; empty if there is neither.
std::string defaultCacheFolder();

// Whether the ending of the name says neither .safetensors nor .bin.
bool isText(const std::string &path);

// TokenRows::open of a .safetensors or .bin file, or of the ids of a text. `model`: whose tokenizer texts
// take.
Result<std::unique_ptr<TokenRows>> openTokens(const std::string &path, int64_t sequence, int64_t vocabulary,
                                              const io::ModelFile &model,
                                              const std::string &cacheFolder = defaultCacheFolder());

} // namespace tessera::data
#endif
