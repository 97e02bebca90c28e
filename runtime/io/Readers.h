// The formats behind ModelFile: each reader checks one mapped file and appends its table of tensors.
#ifndef TESSERA_RUNTIME_IO_READERS_H
#define TESSERA_RUNTIME_IO_READERS_H

#include "tessera/runtime/io/MappedFile.h"
#include "tessera/runtime/io/ModelFile.h"

#include <functional>

namespace tessera::io {

using Metadata = std::map<std::string, GgufValue, std::less<>>;

bool looksLikeSafetensors(std::string_view bytes);
// `holds`: as ModelFile::holds; left as it is where the file does not say.
Status readSafetensors(const MappedFile &file, std::vector<TensorInfo> &tensors, std::string &holds);

// A clone without Git LFS holds small texts in place of the large files.
Status refuseLfsPointer(const MappedFile &file);

bool looksLikeGguf(std::string_view bytes);
Status readGguf(const MappedFile &file, std::vector<TensorInfo> &tensors, Metadata &metadata);

// The files of a Hugging Face directory, wherever they are (a folder, the end of an executable).
struct DirectoryFiles {
  std::string where; // for messages
  // Null if there is no such file.
  std::function<Result<std::shared_ptr<MappedFile>>(const std::string &name)> open;
  // The first name, by the alphabet, of those that are wanted; empty if there is none.
  std::function<std::string(bool (*isWanted)(std::string_view))> findName;
};

struct DirectoryContents {
  std::vector<std::shared_ptr<MappedFile>> files; // all that were read: texts, index, weights
  std::map<std::string, std::string_view> texts;
  std::vector<TensorInfo> tensors;
  std::string holds; // as ModelFile::holds
};
Status readHuggingFaceDirectory(const DirectoryFiles &directory, DirectoryContents &contents);

// shape -> elements and bytes, with every overflow checked; false if they do not fit or a row is not whole
// blocks.
bool computeSizes(TensorInfo &tensor);
// "[3, 64]"
std::string shapeText(const std::vector<int64_t> &shape);
// Every tensor's bytes lie apart from all others'. `where`: the file.
Status checkNoOverlap(const std::vector<TensorInfo> &tensors, size_t firstTensor, const std::string &where);

inline const char *const cannotReadModel = "cannot read model";
inline const char *const isItWhole = "is the file whole? fetch it again";

} // namespace tessera::io
#endif
