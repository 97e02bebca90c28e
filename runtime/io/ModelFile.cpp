#include "tessera/runtime/io/ModelFile.h"

#include "BlocksApart.h"
#include "EmbedTable.h"
#include "Readers.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>

namespace tessera::io {

ModelFile::ModelFile() = default;
ModelFile::~ModelFile() = default;

// Builds a ModelFile step by step; nothing else changes one.
class ModelFileBuilder {
public:
  ModelFileBuilder(const std::string &path, bool embedded) : model_(new ModelFile) {
    model_->path_ = path;
    model_->embedded_ = embedded;
  }

  Status addFile(const std::shared_ptr<MappedFile> &file) {
    if (Status status = refuseLfsPointer(*file); !status)
      return status;
    if (looksLikeGguf(file->text())) {
      model_->format_ = ModelFormat::Gguf;
      if (Status status = readGguf(*file, model_->tensors_, model_->metadata_); !status)
        return status;
    } else if (looksLikeSafetensors(file->text()) || endsWith(file->name(), ".safetensors")) {
      model_->format_ = ModelFormat::Safetensors;
      if (Status status = readSafetensors(*file, model_->tensors_, model_->holds_); !status)
        return status;
      if (Status status = joinBlocksAndScales(model_->tensors_, file->where()); !status)
        return status;
    } else {
      const std::string name = file->name().substr(file->name().rfind('/') + 1);
      if (std::find(std::begin(modelTexts), std::end(modelTexts), name) != std::end(modelTexts) ||
          name == indexName)
        return Failure{cannotReadModel, file->where(), "one file of a Hugging Face directory",
                       "name the directory"};
      return Failure{cannotReadModel, file->where(),
                     endsWith(file->name(), ".gguf") ? "it does not begin with GGUF's magic"
                                                     : "neither a safetensors nor a GGUF file",
                     "give a Hugging Face directory or a .gguf file"};
    }
    model_->files_.push_back(file);
    return {};
  }

  Status addDirectory(const DirectoryFiles &directory) {
    model_->format_ = ModelFormat::HuggingFace;
    DirectoryContents contents;
    if (Status status = readHuggingFaceDirectory(directory, contents); !status)
      return status;
    if (Status status = joinBlocksAndScales(contents.tensors, directory.where); !status)
      return status;
    model_->files_ = std::move(contents.files);
    model_->texts_ = std::move(contents.texts);
    model_->tensors_ = std::move(contents.tensors);
    model_->holds_ = std::move(contents.holds);
    return {};
  }

  std::unique_ptr<ModelFile> finish() {
    for (size_t i = 0; i < model_->tensors_.size(); ++i)
      model_->index_.emplace(model_->tensors_[i].name, i);
    return std::move(model_);
  }

private:
  static bool endsWith(const std::string &text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  }
  std::unique_ptr<ModelFile> model_;
};

// The folder at `path` as a set of files.
static DirectoryFiles folderFiles(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  DirectoryFiles files;
  files.where = path;
  files.open = [path](const std::string &name) -> Result<std::shared_ptr<MappedFile>> {
    std::string full = path + "/" + name;
    struct stat info;
    if (lstat(full.c_str(), &info) != 0 && errno == ENOENT)
      return std::shared_ptr<MappedFile>();
    return MappedFile::open(full, name); // a dangling link is an error: the file was meant to be there
  };
  files.findName = [path](bool (*isWanted)(std::string_view)) {
    std::string found;
    if (DIR *folder = opendir(path.c_str())) {
      while (dirent *entry = readdir(folder)) {
        std::string name = entry->d_name;
        if (isWanted(name) && (found.empty() || name < found))
          found = name;
      }
      closedir(folder);
    }
    return found;
  };
  return files;
}

Result<std::unique_ptr<ModelFile>> ModelFile::open(const std::string &path) {
  ModelFileBuilder builder(path, /*embedded=*/false);
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    if (Status status = builder.addDirectory(folderFiles(path)); !status)
      return status.takeFailure();
    return builder.finish();
  }
  Result<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeFailure();
  if (Status status = builder.addFile(*file); !status)
    return status.takeFailure();
  return builder.finish();
}

Result<std::unique_ptr<ModelFile>> ModelFile::openEmbedded(const std::string &path) {
  Result<std::shared_ptr<MappedFile>> whole = MappedFile::open(path);
  if (!whole)
    return whole.takeFailure();
  Result<std::optional<EmbedTable>> table = readEmbedTable(**whole);
  if (!table)
    return table.takeFailure();
  if (!*table)
    return std::unique_ptr<ModelFile>();
  ModelFileBuilder builder(path, /*embedded=*/true);
  auto view = [&](const EmbedEntry &entry) { return (*whole)->view(entry.offset, entry.bytes, entry.name); };
  if (!(*table)->isDirectory) {
    Result<std::shared_ptr<MappedFile>> file = view((*table)->entries.front());
    if (!file)
      return file.takeFailure();
    if (Status status = builder.addFile(*file); !status)
      return status.takeFailure();
    return builder.finish();
  }
  DirectoryFiles files;
  files.where = path;
  files.open = [&](const std::string &name) -> Result<std::shared_ptr<MappedFile>> {
    for (const EmbedEntry &entry : (*table)->entries)
      if (entry.name == name)
        return view(entry);
    return std::shared_ptr<MappedFile>();
  };
  files.findName = [](bool (*)(std::string_view)) { return std::string(); };
  if (Status status = builder.addDirectory(files); !status)
    return status.takeFailure();
  return builder.finish();
}

const TensorInfo *ModelFile::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const std::string_view *ModelFile::text(const std::string &name) const {
  auto found = texts_.find(name);
  return found == texts_.end() ? nullptr : &found->second;
}

const GgufValue *ModelFile::metadata(std::string_view key) const {
  auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

// out[i] = element `lead` + i behind the beginning of the block at `from`.
static void widen(DType type, const uint8_t *from, int64_t lead, int64_t count, float *out) {
  const int64_t perBlock = blockElements(type), perBlockBytes = blockBytes(type);
  // A partial first block, whole blocks, a partial last block.
  float block[kMostBlockElements];
  if (lead != 0 && count > 0) {
    int64_t taken = std::min(count, perBlock - lead);
    dequantize(type, from, perBlock, block);
    std::memcpy(out, block + lead, size_t(taken) * sizeof(float));
    out += taken, count -= taken, from += perBlockBytes;
  }
  int64_t whole = count / perBlock * perBlock;
  dequantize(type, from, whole, out);
  if (count > whole) {
    dequantize(type, from + whole / perBlock * perBlockBytes, perBlock, block);
    std::memcpy(out + whole, block, size_t(count - whole) * sizeof(float));
  }
}

Status ModelFile::readRange(const TensorInfo &tensor, int64_t begin, int64_t count, float *out) const {
  if (begin < 0 || count < 0 || begin > tensor.elements || count > tensor.elements - begin)
    return Failure{cannotReadModel, path_ + ", tensor " + tensor.name,
                   "elements [" + std::to_string(begin) + ", +" + std::to_string(count) + ") of " +
                       std::to_string(tensor.elements) + " were asked for",
                   ""};
  if (!isFloatLike(tensor.dtype))
    return Failure{cannotReadModel, path_ + ", tensor " + tensor.name,
                   std::string("type ") + dtypeName(tensor.dtype) + " is not a type of weights",
                   "convert it to F32, F16 or BF16"};
  const int64_t perBlock = blockElements(tensor.dtype), perBlockBytes = blockBytes(tensor.dtype);
  if (!tensor.blocks) {
    widen(tensor.dtype, tensor.data + begin / perBlock * perBlockBytes, begin % perBlock, count, out);
    return {};
  }
  // Put together in pieces: a copy of the whole range would be as large as the range is.
  constexpr int64_t pieceBytes = int64_t(1) << 18;
  const int64_t last = count > 0 ? (begin + count - 1) / perBlock + 1 : 0, most = pieceBytes / perBlockBytes;
  std::vector<uint8_t> piece;
  while (count > 0) {
    const int64_t first = begin / perBlock, blocks = std::min(most, last - first),
                  taken = std::min(count, (first + blocks) * perBlock - begin);
    piece.resize(size_t(blocks * perBlockBytes));
    tensor.blocks->read(first, blocks, piece.data());
    widen(tensor.dtype, piece.data(), begin % perBlock, taken, out);
    begin += taken, count -= taken, out += taken;
  }
  return {};
}

void ModelFile::release(const void *data, size_t bytes) { dropPages(data, bytes); }

void ModelFile::release(const TensorInfo &tensor) {
  if (tensor.blocks)
    tensor.blocks->release();
  else
    dropPages(tensor.data, tensor.bytes);
}

Status ModelFile::checkUnchanged() const {
  for (const std::shared_ptr<MappedFile> &file : files_)
    if (Status status = file->checkUnchanged(); !status)
      return status;
  return {};
}

} // namespace tessera::io
