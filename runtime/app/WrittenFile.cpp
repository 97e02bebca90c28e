#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/OutputFile.h"

#include <filesystem>

namespace tessera::runtime {

// Where a file is, or would be made: links followed, even those to what is not there.
static std::filesystem::path placeOf(const std::string &path) {
  std::error_code none;
  std::filesystem::path at = path;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(at, none); ++links) {
    std::filesystem::path to = std::filesystem::read_symlink(at, none);
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  std::filesystem::path whole = std::filesystem::absolute(at, none);
  return std::filesystem::weakly_canonical(whole, none);
}

void checkApart(const WrittenFile &file, const WeightOrigin &origin, const std::vector<std::string> &others) {
  std::error_code none;
  bool isUsed = std::filesystem::equivalent(file.path, "/proc/self/exe", none) ||
                (origin.model && origin.model->isReadFrom(file.path));
  for (const auto &[name, state] : origin.states)
    isUsed |= state->isReadFrom(file.path);
  if (isUsed)
    throw Error(file.what, file.path, "this run reads that file", "name another file with " + file.flag);
  for (const std::string &other : others)
    if (!other.empty() &&
        (placeOf(other) == placeOf(file.path) || std::filesystem::equivalent(file.path, other, none)))
      throw Error(file.what, file.path, "this run reads or writes that file",
                  "name another file with " + file.flag);
}

void checkKeepsModels(const WrittenFile &file, const std::vector<std::string> &models) {
  checkApart(file, {});
  for (const std::string &model : models)
    if (!model.empty() && io::isFileOfModel(file.path, model))
      throw Error(file.what, file.path, "it is a file of the model, which would be lost",
                  "name another file with " + file.flag);
}

void checkCanBeWritten(const WrittenFile &file) {
  std::error_code none;
  if (std::filesystem::exists(file.path, none) && !std::filesystem::is_regular_file(file.path, none)) {
    if (std::filesystem::is_directory(file.path, none))
      throw Error(file.what, file.path, "it is a folder", "name a file with " + file.flag);
    return; // a pipe, which whoever reads it would see opened
  }
  io::OutputFile probe(file.path, file.what);
  check(probe.open());
}

} // namespace tessera::runtime
