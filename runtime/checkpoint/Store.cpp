#include "tessera/runtime/checkpoint/Store.h"

#include "Agreement.h"
#include "Mark.h"
#include "StateWriter.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tessera::checkpoint {

using runtime::ParamSpec;

static Failure failed(const std::string &path, int error) {
  const char *hint = error == ENOSPC || error == EDQUOT ? "free some space; earlier saves are whole"
                                                        : "check the path; earlier saves are whole";
  return {"cannot save checkpoint", path, std::strerror(error), hint};
}
static Status statusOf(const std::string &path, int error) {
  return error ? Status(failed(path, error)) : Status();
}
static std::string partOf(int64_t step) { return stepName(step) + ".part"; }

//===----------------------------------------------------------------------===//
// The ranks together
//===----------------------------------------------------------------------===//

Status Store::save(const SaveRequest &request, const runtime::Mesh &mesh, runtime::HostPlane &plane) {
  const bool first = plane.rank() == 0;
  std::vector<FileLayout> layouts;
  Status status;
  for (const StateFile &file : request.files) {
    Result<FileLayout> layout = layoutOf(*file.params);
    if (!layout)
      return layout.takeFailure(); // of the parameters alone: all ranks return it
    layouts.push_back(layout.take());
  }
  if (first)
    status = begin(layouts, request);
  status = agree(plane, std::move(status));
  std::vector<uint64_t> sums;
  if (status) {
    status = writePieces(layouts, request, mesh, plane.rank(), sums);
    status = agree(plane, std::move(status));
  }
  if (status) {
    sums = addedUp(plane, sums);
    if (first)
      status = finish(layouts, request, sums);
    status = agree(plane, std::move(status));
  }
  if (!status) {
    if (first)
      removeTree(inFolder(partOf(request.place.step)));
    plane.barrier(); // a rank that went on with its error could end the process before all is gone
  }
  return status;
}

Status Store::writePieces(const std::vector<FileLayout> &layouts, const SaveRequest &request,
                          const runtime::Mesh &mesh, int64_t rank, std::vector<uint64_t> &sums) {
  for (size_t f = 0; f < layouts.size(); ++f) {
    const StateFile &state = request.files[f];
    std::string path = inFolder(partOf(request.place.step)) + "/" + state.name;
    std::unique_ptr<OutputHandle> file;
    if (int error = files_.openToWrite(path, file))
      return failed(path, error);
    const size_t firstSum = sums.size();
    sums.resize(firstSum + layouts[f].tensors.size());
    StateWriter writer(state, layouts[f], mesh, rank, *file, sums.data() + firstSum);
    if (int error = writer.write())
      return failed(path, error);
    if (int error = file->sync())
      return failed(path, error);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Rank 0: before and after
//===----------------------------------------------------------------------===//

// DIR and what it lies in.
Status Store::makeFolders() {
  for (size_t at = 0; at != std::string::npos;) {
    at = folder_.find('/', at + 1);
    std::string path = folder_.substr(0, at);
    int error = files_.makeFolder(path);
    if (at == std::string::npos && error != 0 && error != EEXIST)
      return failed(folder_, error);
    size_t slash = path.rfind('/');
    if (error == 0)
      if (int unsynced = files_.syncFolder(slash == std::string::npos ? "." : path.substr(0, slash + 1)))
        return failed(path, unsynced);
  }
  return {};
}

Status Store::checkFolder() {
  std::vector<std::string> names;
  if (int error = files_.list(folder_, names))
    return error == ENOENT ? Status() : failed(folder_, error);
  bool hasWeights = std::find(names.begin(), names.end(), weightsName) != names.end();
  if (std::find(names.begin(), names.end(), indexName) != names.end()) {
    std::string index;
    if (int error = files_.read(inFolder(indexName), index))
      return failed(inFolder(indexName), error);
    hasWeights |= stepOfIndex(index) < 0;
  }
  if (hasWeights)
    return Failure{"cannot save checkpoint", folder_, "it holds a model that is no save of a run",
                   "name another folder"};
  return {};
}

Status Store::begin(const std::vector<FileLayout> &layouts, const SaveRequest &request) {
  if (Status status = makeFolders(); !status)
    return status;
  if (Status status = checkFolder(); !status)
    return status;
  removeParts();
  std::string part = inFolder(partOf(request.place.step));
  if (int error = files_.makeFolder(part))
    return failed(part, error);
  for (size_t f = 0; f < layouts.size(); ++f) {
    std::string path = part + "/" + request.files[f].name;
    std::unique_ptr<OutputHandle> file;
    int error = files_.create(path, file);
    if (!error)
      error = file->allocate(layouts[f].bytes);
    if (!error)
      error = file->writeAt(layouts[f].header.data(), layouts[f].header.size(), 0);
    if (error)
      return failed(path, error);
  }
  return {};
}

Status Store::finish(const std::vector<FileLayout> &layouts, const SaveRequest &request,
                     const std::vector<uint64_t> &sums) {
  std::string part = inFolder(partOf(request.place.step));
  for (const auto &[name, text] : request.texts)
    if (Status status = writeFile(part + "/" + name, text); !status)
      return status;
  if (Status status = writeFile(part + "/" + markName, markText(request, layouts, sums)); !status)
    return status;
  if (int error = files_.syncFolder(part))
    return failed(part, error);
  if (Status status = putInPlace(request.place.step); !status)
    return status;
  for (size_t f = 0; f < layouts.size(); ++f)
    if (request.files[f].name == weightsName)
      if (Status status = showInFolder(layouts[f], request); !status)
        return status;
  prune(request.place.step);
  return {};
}

// step-N.part becomes step-N.
Status Store::putInPlace(int64_t step) {
  std::string part = inFolder(partOf(step)), whole = inFolder(stepName(step));
  std::vector<std::string> names;
  bool isThere = files_.list(whole, names) == 0;
  int error = isThere ? files_.exchange(part, whole) : files_.rename(part, whole);
  if (isThere && (error == EINVAL || error == ENOSYS))
    return Failure{"cannot save checkpoint", whole,
                   "this file system cannot put a new save into the place of an old one",
                   "remove it, or save to another folder"};
  return statusOf(whole, error ? error : files_.syncFolder(folder_));
}

// DIR loads as this save from the index's rename on: it names the file of every tensor.
Status Store::showInFolder(const FileLayout &weights, const SaveRequest &request) {
  bool changed = false;
  for (const auto &[name, text] : request.texts) {
    std::string there;
    if (files_.read(inFolder(name), there) == 0 && there == text)
      continue;
    if (Status status = replaceFile(name, text); !status)
      return status;
    changed = true;
  }
  if (changed)
    if (int error = files_.syncFolder(folder_))
      return failed(folder_, error);
  if (Status status = replaceFile(indexName, indexText(weights, request.place.step)); !status)
    return status;
  return statusOf(folder_, files_.syncFolder(folder_));
}

Status Store::writeFile(const std::string &path, std::string_view text) {
  std::unique_ptr<OutputHandle> file;
  int error = files_.create(path, file);
  if (!error)
    error = file->writeAt(text.data(), text.size(), 0);
  return statusOf(path, error ? error : file->sync());
}

Status Store::replaceFile(const std::string &name, std::string_view text) {
  std::string part = inFolder(name + ".part");
  Status status = writeFile(part, text);
  if (status)
    status = statusOf(inFolder(name), files_.rename(part, inFolder(name)));
  if (!status)
    files_.remove(part);
  return status;
}

//===----------------------------------------------------------------------===//
// What goes. A failure here costs space, not a save.
//===----------------------------------------------------------------------===//

void Store::removeTree(const std::string &path) {
  std::vector<std::string> names;
  if (files_.list(path, names) == 0)
    for (const std::string &name : names)
      removeTree(path + "/" + name);
  files_.remove(path);
}

void Store::removeParts() {
  std::vector<std::string> names;
  files_.list(folder_, names);
  for (const std::string &name : names)
    if (name.size() > 5 && name.compare(name.size() - 5, 5, ".part") == 0)
      removeTree(inFolder(name));
}

void Store::prune(int64_t step) {
  std::vector<std::string> names;
  files_.list(folder_, names);
  std::vector<int64_t> earlier, gone;
  for (const std::string &name : names)
    if (int64_t other = stepOfName(name); other >= 0)
      (other > step ? gone : earlier).push_back(other);
  std::sort(earlier.begin(), earlier.end());
  if (int64_t(earlier.size()) > keep_)
    gone.insert(gone.end(), earlier.begin(), earlier.end() - keep_);
  // First the name: what is called step-N is whole.
  for (int64_t other : gone)
    if (files_.rename(inFolder(stepName(other)), inFolder(partOf(other))) == 0)
      files_.syncFolder(folder_);
  removeParts();
}

} // namespace tessera::checkpoint
