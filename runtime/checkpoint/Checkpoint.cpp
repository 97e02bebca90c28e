#include "tessera/runtime/checkpoint/Checkpoint.h"

#include "Mark.h"
#include "tessera/runtime/io/Checksum.h"
#include "tessera/runtime/io/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tessera::checkpoint {

static constexpr const char *cannotResume = "cannot resume";
static constexpr const char *tryEarlier = "name an earlier save with --resume=DIR/step-N";

Checkpoint::~Checkpoint() = default;

Failure Checkpoint::failure(const std::string &where, const std::string &why) const {
  return {cannotResume, path_ + "/" + where, why, tryEarlier};
}

// The folder of the save that `path` means.
static Result<std::string> findSave(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  std::vector<std::string> names;
  if (int error = realFiles().list(path, names))
    return Failure{cannotResume, path, std::strerror(error), "name a folder that --save wrote"};
  auto has = [&](const char *name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (has(markName))
    return path;
  int64_t step = -1;
  std::string index;
  if (has(indexName)) {
    if (int error = realFiles().read(path + "/" + indexName, index))
      return Failure{cannotResume, path + "/" + indexName, std::strerror(error), tryEarlier};
    step = stepOfIndex(index);
  } else {
    for (const std::string &name : names)
      step = std::max(step, stepOfName(name));
  }
  if (step < 0)
    return Failure{cannotResume, path, "there is no whole save in it", "name a folder that --save wrote"};
  return path + "/" + stepName(step);
}

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string &path) {
  Result<std::string> save = findSave(path);
  if (!save)
    return save.takeFailure();
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->path_ = *save;
  std::string text;
  if (int error = realFiles().read(*save + "/" + markName, text))
    return checkpoint->failure(markName, error == ENOENT ? "it is missing: the save is not whole"
                                                         : std::strerror(error));
  Result<Mark> mark = readMark(text, *save + "/" + markName);
  if (!mark)
    return mark.takeFailure();
  checkpoint->place_ = mark->place;
  checkpoint->sum_ = io::checksum(text);
  for (auto &[name, marked] : mark->files) {
    Result<std::shared_ptr<io::MappedFile>> file = io::MappedFile::open(*save + "/" + name);
    if (!file)
      return checkpoint->failure(name, file.failure().why);
    if ((*file)->size() != marked.bytes)
      return checkpoint->failure(name, "it has " + std::to_string((*file)->size()) +
                                           " bytes, and was saved with " + std::to_string(marked.bytes));
    if (io::checksum((*file)->text().substr(0, marked.headBytes)) != marked.head)
      return checkpoint->failure(name, "its bytes are not those that were saved");
    if (marked.isText)
      continue;
    Result<std::unique_ptr<io::ModelFile>> model = io::ModelFile::open(*save + "/" + name);
    if (!model)
      return checkpoint->failure(name, model.failure().why);
    for (const io::TensorInfo &tensor : (*model)->tensors())
      if ((*model)->format() != io::ModelFormat::Safetensors || io::isQuantized(tensor.dtype))
        return checkpoint->failure(name,
                                   "it holds weights in blocks, or is no safetensors file, and saves are");
    checkpoint->files_[name] = {model.take(), std::move(marked.tensors)};
  }
  return checkpoint;
}

const io::ModelFile *Checkpoint::file(const std::string &name) const {
  auto found = files_.find(name);
  return found == files_.end() ? nullptr : found->second.model.get();
}

Status Checkpoint::verify(int64_t part, int64_t parts) const {
  int64_t number = 0;
  for (const auto &[name, stored] : files_)
    for (const auto &[tensorName, expected] : stored.sums) {
      if (number++ % parts != part)
        continue;
      if (!stored.model->checkUnchanged())
        return failure(name, "it changed while it was read");
      const io::TensorInfo *tensor = stored.model->find(tensorName);
      uint64_t sum = 0;
      if (tensor) { // in parts, so that little of it stays in memory
        const int64_t element = io::blockBytes(tensor->dtype), block = (int64_t(16) << 20) / element;
        for (int64_t at = 0; at < tensor->elements; at += block) {
          int64_t count = std::min(block, tensor->elements - at);
          const uint8_t *from = tensor->data + size_t(at * element);
          sum += placeSum(at, from, count, element);
          io::ModelFile::release(from, size_t(count * element));
        }
      }
      if (!tensor || sum != expected)
        return failure(name + ", tensor " + tensorName, "its bytes are not those that were saved");
    }
  return {};
}

Status Checkpoint::checkModel(const std::string &name, const std::vector<runtime::ParamSpec> &params) const {
  const io::ModelFile *model = file(name);
  if (!model)
    return Failure{cannotResume, path_ + "/" + name, "the save has no such file",
                   "resume with the optimizer that it was saved with"};
  Result<FileLayout> layout = layoutOf(params);
  if (!layout)
    return layout.takeFailure();
  auto another = [&](const std::string &tensor, const std::string &why) {
    return Failure{cannotResume, path_ + "/" + name + ", tensor " + tensor, why + ": it is another model",
                   "resume with the model that was saved"};
  };
  for (const FileTensor &tensor : layout->tensors) {
    const io::TensorInfo *stored = model->find(tensor.name);
    if (!stored)
      return another(tensor.name, "the save has no such tensor");
    if (stored->shape != tensor.shape)
      return another(tensor.name, "its shape is " + runtime::toString(stored->shape) + ", the program's " +
                                      runtime::toString(tensor.shape));
  }
  for (const io::TensorInfo &stored : model->tensors())
    if (layout->find(stored.name) < 0)
      return another(stored.name, "the program has no such tensor");
  return {};
}

} // namespace tessera::checkpoint
