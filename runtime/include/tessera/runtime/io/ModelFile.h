// A model on disk, whatever its format: a table of named tensors whose bytes are memory-mapped read-only, and
// the texts beside them (config.json, tokenizer.json, GGUF metadata). Used by the compiler's importers and by
// the runtime's loader.
//
// Everything a file claims is checked against its size when it is opened: truncated, damaged and hostile
// files give a Failure that names the file and the tensor; they never crash, hang or allocate more than a
// small multiple of the file. What is not interpreted (config values, tensor contents) is not checked. A
// ModelFile is immutable and may be used by many threads. The file must not be truncated while it is mapped
// (the system then raises SIGBUS): see checkUnchanged, and LostPages.h.
#ifndef TESSERA_RUNTIME_IO_MODELFILE_H
#define TESSERA_RUNTIME_IO_MODELFILE_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/DType.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::io {

// Blocks that stand nowhere as such: their parts, in tensors of their own, are put together when they are
// read.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  // Blocks [first, first + count) of the tensor, as DType.h says.
  virtual void read(int64_t first, int64_t count, uint8_t *out) const = 0;
  // As ModelFile::release.
  virtual void release() const = 0;
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;    // row-major, outermost first (GGUF's order reversed); empty for a scalar
  int64_t elements = 1;          // product of shape
  const uint8_t *data = nullptr; // in the mapping, `bytes` long; need not be aligned to the element
  size_t bytes = 0;
  std::shared_ptr<const BlockSource> blocks; // if not null, they are read from here, and data is null
};

// One value of GGUF's metadata. Strings are views into the mapping.
struct GgufValue {
  enum class Kind { Int, Uint, Float, Bool, String, Array };
  Kind kind = Kind::Uint;
  int64_t intValue = 0;    // Int; Uint (as bits; values over 2^63 - 1 stay readable through uintValue); Bool
  double floatValue = 0;   // Float; also Int and Uint converted
  std::string_view string; // String
  Kind elementKind = Kind::Uint;         // Array: of what (arrays of arrays are refused)
  std::vector<std::string_view> strings; // Array of String
  std::vector<double> floats;            // Array of Float
  std::vector<int64_t> ints;             // Array of Int, Uint, Bool

  uint64_t uintValue() const { return uint64_t(intValue); }
};

// The texts of a Hugging Face directory that are read.
inline constexpr const char *modelTexts[] = {"config.json",           "generation_config.json",
                                             "tokenizer.json",        "tokenizer.model",
                                             "tokenizer_config.json", "chat_template.jinja"};

// Where its weights are: the first of these that is there.
inline constexpr const char *weightsName = "model.safetensors", *indexName = "model.safetensors.index.json";
inline constexpr const char *modelWeights[] = {weightsName, indexName};

enum class ModelFormat { HuggingFace, Safetensors, Gguf };

class MappedFile;

class ModelFile {
public:
  // `path`: a Hugging Face directory (config.json; model.safetensors, or model.safetensors.index.json and its
  // shards; no weights at all is fine: hasWeights() is false), one .safetensors file, or one .gguf file (told
  // apart by content). Cost: reads headers only (GGUF: the metadata too).
  static Result<std::unique_ptr<ModelFile>> open(const std::string &path);

  // The model that embedModel (Embed.h) appended to the file at `path`; null if it carries none.
  static Result<std::unique_ptr<ModelFile>> openEmbedded(const std::string &path = "/proc/self/exe");

  ~ModelFile();
  ModelFile(const ModelFile &) = delete;
  ModelFile &operator=(const ModelFile &) = delete;

  ModelFormat format() const { return format_; }
  const std::string &path() const { return path_; } // as given to open
  bool isEmbedded() const { return embedded_; }
  bool hasWeights() const { return !tensors_.empty(); }
  // Of safetensors with the names of weights that are none: what they are, "exp_avg" for one, as a training
  // run has written it (SafetensorsWriter.h). Empty for all others.
  const std::string &holds() const { return holds_; }

  const std::vector<TensorInfo> &tensors() const { return tensors_; } // in the order of the files
  const TensorInfo *find(std::string_view name) const;                // null if there is none

  // A file of a Hugging Face directory, one of modelTexts. Null if it does not exist; other names are never
  // present. At most 256 MiB each.
  const std::string_view *text(const std::string &name) const;

  // GGUF metadata. Empty for other formats.
  const std::map<std::string, GgufValue, std::less<>> &metadata() const { return metadata_; }
  const GgufValue *metadata(std::string_view key) const;

  // out[i] = element begin + i of the tensor, as float32, i < count. Ranges need not be aligned to quantized
  // blocks. Fails on a range outside the tensor and on types that hold no weights (I32, BOOL, ...). Cost: the
  // range's bytes.
  Status readRange(const TensorInfo &tensor, int64_t begin, int64_t count, float *out) const;

  // The pages of [data, data + bytes) are not needed soon: lets the system take them back (they are read
  // again from the file on the next use). Any range inside a tensor; cheap.
  static void release(const void *data, size_t bytes);
  static void release(const TensorInfo &tensor);

  // Fails if a file changed size since it was opened. Call it before reading much: touching pages beyond the
  // new end of a truncated file would raise SIGBUS.
  Status checkUnchanged() const;

  // Every file that was read, in order (texts, index, weights): for embedModel.
  const std::vector<std::shared_ptr<MappedFile>> &files() const { return files_; }

private:
  friend class ModelFileBuilder;
  ModelFile();

  ModelFormat format_ = ModelFormat::HuggingFace;
  std::string path_, holds_;
  bool embedded_ = false;
  std::vector<std::shared_ptr<MappedFile>> files_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, size_t> index_; // views of tensors_[i].name
  std::map<std::string, std::string_view> texts_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
};

} // namespace tessera::io
#endif
