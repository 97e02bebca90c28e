#include "tessera/runtime/checkpoint/Store.h"

#include "Agreement.h"
#include "Mark.h"
#include "StateWriter.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace tessera::checkpoint {

using runtime::ParamSpec;

static std::string partOf(int64_t step) { return stepName(step) + ".part"; }

Failure Store::failed(const std::string &path, int error) {
  const std::string hint = error == ENOSPC || error == EDQUOT ? "free some space" : "check the path";
  return {"cannot save checkpoint", path, std::strerror(error),
          hint + (hadSaves_ || !saves().empty() ? "; earlier saves are whole" : "")};
}

Status Store::statusOf(const std::string &path, int error) {
  return error ? Status(failed(path, error)) : Status();
}

//===----------------------------------------------------------------------===//
// The ranks together
//===----------------------------------------------------------------------===//

Status Store::save(const SaveRequest &request, const runtime::Mesh &mesh, runtime::HostPlane &plane) {
  const bool first = plane.rank() == 0;
  hadSaves_ = hadSaves_ || !saves().empty();
  std::vector<FileLayout> layouts;
  Status status;
  for (const StateFile &file : request.files) {
    Result<FileLayout> layout = layoutOf(*file.params, file.holds);
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
    if (first && isOurs_)
      removeParts(request);
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

Status Store::checkWritable() {
  std::string at = folder_;
  std::vector<std::string> names;
  int error = files_.list(at, names);
  while (error == ENOENT && at != ".") { // the nearest folder that is there
    at.erase(at.find_last_not_of('/') + 1);
    const size_t slash = at.rfind('/');
    at = slash == std::string::npos ? "." : at.substr(0, slash + 1);
    error = files_.list(at, names);
  }
  const std::string probe = at + (at.back() == '/' ? "" : "/") + ".step-probe-" + std::to_string(getpid());
  if (!error)
    error = files_.makeFolder(probe);
  if (!error)
    error = files_.remove(probe);
  return error ? Status(failed(folder_, error)) : Status();
}

// Whether it is a save, and not something else of such a name.
bool Store::isSave(int64_t step) {
  std::vector<std::string> names;
  return files_.list(inFolder(stepName(step)), names) == 0 &&
         std::find(names.begin(), names.end(), markName) != names.end();
}

std::vector<int64_t> Store::saves() {
  std::vector<std::string> names;
  std::vector<int64_t> steps;
  if (files_.list(folder_, names) == 0)
    for (const std::string &name : names)
      if (int64_t step = stepOfName(name); step >= 0 && isSave(step))
        steps.push_back(step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status Store::checkFolder(const Texts &texts) {
  std::vector<std::string> names;
  if (int error = files_.list(folder_, names))
    return error == ENOENT ? Status() : failed(folder_, error);
  auto refuse = [&](const std::string &why) {
    return Failure{"cannot save checkpoint", folder_, why, "name another folder"};
  };
  auto has = [&](const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  bool hasWeights = has(weightsName);
  if (has(indexName)) {
    std::string index;
    if (int error = files_.read(inFolder(indexName), index))
      return failed(inFolder(indexName), error);
    hasWeights |= stepOfIndex(index) < 0;
  }
  if (hasWeights)
    return refuse("it holds a model that is no save of a run");
  const std::vector<int64_t> own = saves();
  for (const std::string &name : names)
    if (int64_t step = stepOfName(name); step >= 0 && !std::binary_search(own.begin(), own.end(), step))
      return refuse("it holds " + name + ", which is no save of a run");
  // A text that lies there is replaced if an earlier save brought it.
  std::vector<std::string> brought;
  for (int64_t step : own) {
    std::vector<std::string> inSave;
    files_.list(inFolder(stepName(step)), inSave);
    brought.insert(brought.end(), inSave.begin(), inSave.end());
  }
  for (const auto &[name, text] : texts) {
    std::string there;
    if (has(name) && std::find(brought.begin(), brought.end(), name) == brought.end() &&
        (files_.read(inFolder(name), there) != 0 || there != text))
      return refuse("it holds another " + name + " than the model's, which no save has written");
  }
  return {};
}

Status Store::begin(const std::vector<FileLayout> &layouts, const SaveRequest &request) {
  if (Status status = makeFolders(); !status)
    return status;
  if (Status status = checkFolder(request.texts); !status)
    return status;
  isOurs_ = true;
  removeParts(request);
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
  for (size_t f = 0; f < layouts.size(); ++f)
    if (request.files[f].name == weightsName)
      if (Status status = show(layouts[f], request); !status) {
        takeBack();
        return status;
      }
  placed_.clear();
  prune(request);
  return {};
}

// DIR loads as this save from the index's rename on: it names the file of every tensor. What needs room is
// written before the first name changes, and until the last one has changed the others can be taken back.
Status Store::show(const FileLayout &weights, const SaveRequest &request) {
  std::vector<std::string> changed;
  for (const auto &[name, text] : request.texts) {
    std::string there;
    if (files_.read(inFolder(name), there) == 0 && there == text)
      continue;
    changed.push_back(name);
    if (Status status = writeFile(inFolder(name + ".part"), text); !status)
      return status;
  }
  const std::string index = inFolder(indexName);
  if (Status status = writeFile(index + ".part", indexText(weights, request.place.step)); !status)
    return status;
  if (Status status = putInPlace(stepName(request.place.step), true); !status)
    return status;
  const int unsynced = files_.syncFolder(folder_);
  if (unsynced)
    return failed(folder_, unsynced);
  for (const std::string &name : changed)
    if (Status status = putInPlace(name, false); !status)
      return status;
  if (!changed.empty())
    if (int error = files_.syncFolder(folder_))
      return failed(folder_, error);
  if (int error = files_.rename(index + ".part", index))
    return failed(index, error);
  placed_.clear(); // the save is there
  return statusOf(folder_, files_.syncFolder(folder_));
}

// NAME.part becomes NAME, and what was called so becomes NAME.part.
Status Store::putInPlace(const std::string &name, bool isSave) {
  const std::string whole = inFolder(name), part = whole + ".part";
  std::vector<std::string> names;
  const bool isThere = files_.list(whole, names) != ENOENT;
  int error = isThere ? files_.exchange(part, whole) : files_.rename(part, whole);
  if (isThere && (error == EINVAL || error == ENOSYS)) {
    if (isSave)
      return Failure{"cannot save checkpoint", whole,
                     "this file system cannot put a new save into the place of an old one",
                     "remove it, or save to another folder"};
    return statusOf(whole, files_.rename(part, whole)); // a text, which is not taken back then
  }
  if (error)
    return failed(whole, error);
  placed_.emplace_back(name, isThere);
  return {};
}

// Names mean what they meant before show().
void Store::takeBack() {
  for (; !placed_.empty(); placed_.pop_back()) {
    const auto &[name, wasThere] = placed_.back();
    const std::string whole = inFolder(name), part = whole + ".part";
    if (wasThere)
      files_.exchange(part, whole);
    else
      files_.rename(whole, part);
  }
  files_.syncFolder(folder_);
}

Status Store::writeFile(const std::string &path, std::string_view text) {
  std::unique_ptr<OutputHandle> file;
  int error = files_.create(path, file);
  if (!error)
    error = file->writeAt(text.data(), text.size(), 0);
  return statusOf(path, error ? error : file->sync());
}

//===----------------------------------------------------------------------===//
// What goes. A failure here costs space, not a save.
//===----------------------------------------------------------------------===//

void Store::removeTree(const std::string &path) {
  if (files_.remove(path) == 0) // a link, too, and not what it leads to
    return;
  std::vector<std::string> names;
  if (files_.list(path, names) == 0)
    for (const std::string &name : names)
      removeTree(path + "/" + name);
  files_.remove(path);
}

// What saves leave half done, and nothing else that may lie there under such a name.
void Store::removeParts(const SaveRequest &request) {
  std::vector<std::string> names;
  files_.list(folder_, names);
  for (const std::string &name : names) {
    if (name.size() <= 5 || name.compare(name.size() - 5, 5, ".part") != 0)
      continue;
    const std::string whole = name.substr(0, name.size() - 5);
    if (stepOfName(whole) >= 0 || whole == indexName ||
        std::any_of(request.texts.begin(), request.texts.end(),
                    [&](const auto &text) { return text.first == whole; }))
      removeTree(inFolder(name));
  }
}

void Store::prune(const SaveRequest &request) {
  std::vector<int64_t> earlier, gone;
  saved_.insert(request.place.step);
  auto isOfAnother = [&](int64_t step) {
    return step > request.place.step || (request.begun >= 0 && step > request.begun && !saved_.count(step));
  };
  for (int64_t step : saves())
    (isOfAnother(step) ? gone : earlier).push_back(step);
  if (int64_t(earlier.size()) > keep_)
    gone.insert(gone.end(), earlier.begin(), earlier.end() - keep_);
  // First the name: what is called step-N is whole.
  for (int64_t step : gone)
    if (files_.rename(inFolder(stepName(step)), inFolder(partOf(step))) == 0)
      files_.syncFolder(folder_);
  removeParts(request);
}

} // namespace tessera::checkpoint
