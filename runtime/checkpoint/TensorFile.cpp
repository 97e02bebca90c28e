#include "tessera/runtime/checkpoint/TensorFile.h"

#include "Agreement.h"
#include "StateWriter.h"

#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace tessera::checkpoint {

static Status statusOf(const std::string &path, int error) {
  if (!error)
    return {};
  return Failure{"cannot write tensors", path, std::strerror(error), "name a file in a folder with space"};
}

static int begin(FileSystem &files, const std::string &path, const FileLayout &layout) {
  std::unique_ptr<OutputHandle> file;
  if (int error = files.create(path, file))
    return error;
  if (int error = file->allocate(layout.bytes))
    return error;
  return file->writeAt(layout.header.data(), layout.header.size(), 0);
}

static int writePieces(FileSystem &files, const std::string &path, const StateFile &state,
                       const FileLayout &layout, const runtime::Mesh &mesh, int64_t rank) {
  std::unique_ptr<OutputHandle> file;
  if (int error = files.openToWrite(path, file))
    return error;
  std::vector<uint64_t> sums(layout.tensors.size()); // nobody checks them later
  if (int error = StateWriter(state, layout, mesh, rank, *file, sums.data()).write())
    return error;
  return file->sync();
}

static int putInPlace(FileSystem &files, const std::string &part, const std::string &target) {
  if (int error = files.rename(part, target))
    return error;
  const size_t slash = target.rfind('/');
  return files.syncFolder(slash == std::string::npos ? "." : target.substr(0, slash + 1));
}

Status writeTensorFile(const std::string &path, const StateFile &state, const runtime::Mesh &mesh,
                       runtime::HostPlane &plane, FileSystem &files) {
  Result<FileLayout> layout = layoutOf(*state.params, state.holds);
  if (!layout)
    return layout.takeFailure(); // of the parameters alone: all ranks return it
  const FileLayout all = layout.take();
  const bool first = plane.rank() == 0;
  // Of a link the file that it means; under a name that nobody else has until it is whole.
  std::error_code none;
  const std::filesystem::path real = std::filesystem::canonical(path, none);
  const std::string target = none ? path : real.string();
  int64_t process = getpid();
  plane.broadcast(&process, sizeof(process), 0);
  const std::string part = target + ".part-" + std::to_string(process);
  Status status = agree(plane, first ? statusOf(path, begin(files, part, all)) : Status());
  if (status)
    status = agree(plane, statusOf(path, writePieces(files, part, state, all, mesh, plane.rank())));
  if (status)
    status = agree(plane, first ? statusOf(path, putInPlace(files, part, target)) : Status());
  if (!status) {
    if (first)
      files.remove(part);
    plane.barrier(); // a rank that went on with its error could end the process before it is gone
  }
  return status;
}

} // namespace tessera::checkpoint
