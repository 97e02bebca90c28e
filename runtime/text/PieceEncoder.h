// What turns one piece of text into ids: the models that a tokenizer can have.
#ifndef TESSERA_RUNTIME_TEXT_PIECEENCODER_H
#define TESSERA_RUNTIME_TEXT_PIECEENCODER_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::text {

// Immutable; many threads may encode with one.
class PieceEncoder {
public:
  virtual ~PieceEncoder() = default;
  // Appends the ids of `piece`, valid UTF-8. False if the vocabulary cannot express it: *missing is the part
  // of `piece` that it lacks, a character or a byte.
  virtual bool encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const = 0;
};

} // namespace tessera::text
#endif
