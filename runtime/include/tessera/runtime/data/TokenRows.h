// Tokens to train on, as rows of ids, mapped from a file.
#ifndef TESSERA_RUNTIME_DATA_TOKENROWS_H
#define TESSERA_RUNTIME_DATA_TOKENROWS_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/MappedFile.h"
#include "tessera/runtime/io/ModelFile.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::data {

// Row r is sequence + 1 ids: columns 0 .. sequence - 1 are what the model reads, 1 .. sequence what it is to
// predict. A row may be short: -1 ends it, and is all that follows. Immutable; any number of threads may
// read.
class TokenRows {
public:
  // `path`: told apart by the ending of its name.
  //   .safetensors   the tensor `tokens`, int32 [rows, sequence + 1].
  //   .bin           one stream of ids: llm.c's header (256 words of 32 bits: 20240520, version 1, number of
  //                  ids, then 16-bit ids; or 20240801, version 7, then 32-bit ids), or else bare 16-bit ids.
  //                  Row r begins at id r * sequence: its last id is the first of the next row. What is left
  //                  at the end and makes no row is not used.
  // Fails on what is no such file, has no row or rows of another width, and on ids outside [0, vocabulary):
  // of a file of at most 256 MiB at once, of a larger one when the row is read. `name`: what messages call
  // it, the text that the ids are of for one; empty: its path.
  static Result<std::unique_ptr<TokenRows>> open(const std::string &path, int64_t sequence,
                                                 int64_t vocabulary, const std::string &name = "");

  int64_t rows() const { return rows_; }
  int64_t sequence() const { return sequence_; }
  const std::string &path() const { return path_; } // or the name in its place

  // out: the row's sequence + 1 ids. Fails, naming row and column from 0, on an id outside the vocabulary and
  // on one that follows -1. The pages that it read may be taken back by the system.
  Status read(int64_t row, int32_t *out) const;
  // How many ids come before -1. Of a row with all of them it looks at the last one alone, of a short one at
  // log2(sequence) more.
  int64_t length(int64_t row) const;
  // Ids that the model is to predict: those of the row but for the first.
  int64_t targets(int64_t row) const;

private:
  TokenRows() = default;
  Status openTable(const io::ModelFile &file);
  Status openStream(const io::MappedFile &file);
  Status checkUnchanged() const;
  Status readRow(int64_t row, int32_t *out) const;
  Status checkAll() const;
  int64_t id(int64_t row, int64_t column) const;
  Failure failure(std::string why, std::string hint) const;

  std::string path_;
  int64_t sequence_ = 0, vocabulary_ = 0, rows_ = 0;
  int64_t stride_ = 0; // ids from a row to the next
  int64_t idBytes_ = 4;
  bool isTable_ = false; // signed, with -1 at the end of short rows
  const uint8_t *ids_ = nullptr;
  std::shared_ptr<io::MappedFile> stream_;
  std::unique_ptr<io::ModelFile> table_;
};

} // namespace tessera::data
#endif
