// The splits that GGUF names in tokenizer.ggml.pre instead of spelling them out.
#ifndef TESSERA_RUNTIME_TEXT_GGUFSPLITS_H
#define TESSERA_RUNTIME_TEXT_GGUFSPLITS_H

#include <string_view>
#include <vector>

namespace tessera::text {

struct GgufSplit {
  std::vector<std::string_view> names;
  std::vector<const char *> patterns; // each isolates its matches, one after another
  bool ignoreMerges = false;
  bool addBos = false; // unless the file says
  bool nfc = false;    // the model's own tokenizer normalizes first, which GGUF does not say anywhere
};

const GgufSplit *findGgufSplit(std::string_view name); // null: unknown

} // namespace tessera::text
#endif
