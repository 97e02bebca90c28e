//===- Mark.h - The texts of a save: names, mark, index ---------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_CHECKPOINT_MARK_H
#define TESSERA_RUNTIME_CHECKPOINT_MARK_H

#include "tessera/runtime/checkpoint/Store.h"

#include <map>

namespace tessera::checkpoint {

inline constexpr int64_t markVersion = 1;
inline constexpr std::string_view markBegin = "{\"checksum\":\""; ///< then 16 digits, then what they are of

std::string stepName(int64_t step);            ///< "step-20"
int64_t stepOfName(std::string_view name);     ///< 20; -1 of any other name
int64_t stepOfIndex(const std::string &index); ///< of DIR's index; -1: no index of ours

/// DIR's index: the file of every tensor of the weights, in the folder of this step.
std::string indexText(const FileLayout &weights, int64_t step);

/// checkpoint.json. It begins with the checksum of all that follows it.
std::string markText(const SaveRequest &request, const std::vector<FileLayout> &layouts,
                     const std::vector<uint64_t> &sums);

/// What markText says.
struct MarkedFile {
  uint64_t bytes = 0;
  uint64_t headBytes = 0, head = 0; ///< checksum of the first bytes: of all, or of a safetensors header
  std::map<std::string, uint64_t> tensors; ///< placeSum by name
  bool isText = true;
};
struct Mark {
  TrainingPlace place;
  std::map<std::string, MarkedFile> files;
};
Result<Mark> readMark(std::string_view text, const std::string &where);

} // namespace tessera::checkpoint
#endif
