#include "SavedState.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

std::vector<SavedFile> savedFiles(const TrainedProgram &program) {
  std::vector<SavedFile> files = {{checkpoint::weightsName, "", {}, {}, {}}};
  for (size_t part = 0; part < program.parts.size(); ++part)
    for (size_t i = 0; i < program.parts[part]->params.size(); ++i) {
      const ParamSpec &param = program.parts[part]->params[i];
      auto file = std::find_if(files.begin(), files.end(),
                               [&](const SavedFile &one) { return one.state == param.state; });
      if (file == files.end())
        file = files.insert(file, {param.state + ".safetensors", param.state, {}, {}, {}});
      // Stacks of one name have other layers in each part.
      if (std::any_of(file->params.begin(), file->params.end(), [&](const ParamSpec &earlier) {
            return earlier.name == param.name && param.layers == 0;
          }))
        continue;
      file->params.push_back(param);
      file->parts.push_back(part);
      file->numbers.push_back(int64_t(i));
    }
  return files;
}

Status checkSave(const checkpoint::Checkpoint &save, const std::vector<SavedFile> &files) {
  for (const SavedFile &file : files)
    if (Status status = save.checkModel(file.name, file.params); !status)
      return status;
  return {};
}

const void *PieceReader::piece(int64_t param, int64_t layer) {
  const ParamSpec &spec = file_.params[size_t(param)];
  Rank &rank = *step_.holder(file_.parts[size_t(param)]);
  if (spec.variable)
    return rank.variable(file_.numbers[size_t(param)], layer, held_);
  held_.resize(size_t(io::bytesOf(spec.dtype, elementCount(spec.local))));
  ParamSpec plain = spec;
  plain.packOutDims.reset();
  const Mesh &mesh = rank.manifest().mesh;
  ShardReader reader = origin_.model ? ShardReader(plain, rowDims(plain), mesh, rank.id(), *origin_.model)
                                     : ShardReader(plain, rowDims(plain), mesh, rank.id(), origin_.seed);
  reader.readAs(spec.dtype, layer, 0, reader.rows(), held_.data());
  return held_.data();
}

std::string PieceReader::notFinite() {
  // In blocks: the bytes that `info` says leave no room for a table in float32.
  std::vector<float> block(size_t(1) << 16);
  for (size_t p = 0; p < file_.params.size(); ++p) {
    const ParamSpec &spec = file_.params[p];
    if (!spec.variable || !step_.holder(file_.parts[p]))
      continue;
    const int64_t elements = elementCount(spec.local), most = int64_t(block.size());
    for (int64_t layer = 0; layer < std::max<int64_t>(spec.layers, 1); ++layer) {
      auto *rows = static_cast<const char *>(piece(int64_t(p), layer));
      for (int64_t at = 0; at < elements; at += most) {
        const int64_t count = std::min(most, elements - at);
        io::traits(spec.dtype).widen(rows + io::bytesOf(spec.dtype, at), count, block.data());
        if (!std::all_of(block.begin(), block.begin() + count, [](float x) { return std::isfinite(x); }))
          return spec.name;
      }
      step_.rank().entry().progress.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return {};
}

} // namespace tessera::runtime
