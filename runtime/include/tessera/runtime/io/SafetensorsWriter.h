// Writing .safetensors files. A file has its name once it is whole: a failed write (full disk, no such
// folder) is a Failure, and leaves, as does the end of the process, what had that name before.
#ifndef TESSERA_RUNTIME_IO_SAFETENSORSWRITER_H
#define TESSERA_RUNTIME_IO_SAFETENSORSWRITER_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/DType.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::io {

struct TensorToWrite {
  std::string name;
  DType dtype = DType::F32; // not a quantized type
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

// Metadata of files whose tensors have the names of weights and are none: what they are (ModelFile::holds).
inline constexpr const char *holdsKey = "tessera.holds";

// What stands in a file before the bytes of these tensors, which follow it in this order without gaps: a
// multiple of 64 bytes. `metadata`: texts that say more of the file. `data` is not looked at.
std::string safetensorsHeader(const std::vector<TensorToWrite> &tensors,
                              const std::map<std::string, std::string> &metadata = {});

// Writes all tensors in the given order; data begins 64-byte aligned.
Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors);

// One float32 tensor [rows, columns] whose rows come one after another and whose number is known only at the
// end.
class SafetensorsRowWriter {
public:
  static Result<std::unique_ptr<SafetensorsRowWriter>> create(const std::string &path,
                                                              const std::string &tensorName, int64_t columns);
  ~SafetensorsRowWriter(); // without finish: nothing has come of it
  Status append(const float *rows, int64_t count);
  Status finish(); // writes the header; the file has its name only after this

private:
  SafetensorsRowWriter() = default;
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::io
#endif
