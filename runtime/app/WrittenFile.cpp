#include "WrittenFile.h"
#include "tessera/runtime/checkpoint/Store.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/KeptFiles.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/OutputFile.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace tessera::runtime {

namespace fs = std::filesystem;

// The model and, of a training run's folder, the saves in it.
static void addModel(io::KeptFiles &files, const std::string &path) {
  const char *const why = "it is a file of a save, which would be lost";
  std::error_code none;
  auto addSave = [&](const fs::path &folder) {
    if (fs::exists(folder / checkpoint::markName, none))
      files.addFolder(folder.string(), why);
  };
  files.addModel(path);
  addSave(path);
  for (fs::directory_iterator at(path, none), end; !none && at != end; at.increment(none))
    addSave(at->path());
}

// The one list of what a command reads: a flag that names a file to read adds it here.
static io::KeptFiles filesRead(const Manifest &manifest, const Options &options) {
  const char *const read = "this run reads that file";
  io::KeptFiles files;
  files.add("/proc/self/exe", read);
  // Also where weights are made up: the model that was compiled stays as it is.
  for (const std::string &model : {manifest.model, options.model, options.train.resume})
    addModel(files, model);
  // Of bare weights the texts beside them go into saves.
  std::error_code none;
  if (!options.model.empty() && !fs::is_directory(options.model, none))
    for (const char *name : io::modelTexts)
      files.add((fs::path(options.model).parent_path() / name).string(), read);
  for (const std::string &path : {options.train.data, options.train.eval})
    files.add(path, read);
  for (const Prompt &prompt : options.prompts)
    files.add(prompt.file == "-" ? "/dev/stdin" : prompt.file, read);
  for (const std::string &log : options.logs)
    files.add(log, read);
  return files;
}

// The one list of what a command writes but for saves, whose folder is looked at by itself.
static std::vector<WrittenFile> filesWritten(const Options &options) {
  std::vector<WrittenFile> files = {{"cannot write logits", "--logits=", options.logitsFile},
                                    {"cannot write log", "--log=", options.train.log},
                                    {"cannot write trace", "--trace=", options.train.trace},
                                    {"cannot write tensors", "--grads=", options.train.grads},
                                    {"cannot write the page", "-o", options.plotFile},
                                    {"cannot write machine", "--machine=", options.machineFile}};
  files.erase(std::remove_if(files.begin(), files.end(), [](const WrittenFile &f) { return f.path.empty(); }),
              files.end());
  return files;
}

void checkFilesApart(const Manifest &manifest, const Options &options) {
  const std::vector<WrittenFile> written = filesWritten(options);
  const char *notThere = "nothing is written to standard output";
  for (const WrittenFile &file : written)
    if (file.path == "-")
      throw Error(file.what, file.flag + (file.flag.back() == '=' ? "-" : " -"), notThere, "name a file");
  if (options.train.save == "-")
    throw Error("cannot save checkpoint", "--save=-", notThere, "name a folder");
  if (written.empty())
    return;
  io::KeptFiles kept = filesRead(manifest, options);
  for (const WrittenFile &file : written)
    if (const std::string why = kept.claim(file.path, file.flag); !why.empty())
      throw Error(file.what, file.path, why, "name another file with " + file.flag);
}

// A pipe is not opened: whoever reads it would see that.
static bool canBeRewound(const std::string &path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_fifo(status) || fs::is_socket(status))
    return false;
  const int fd = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return true; // which is another error
  const bool can = lseek(fd, 0, SEEK_SET) == 0;
  close(fd);
  return can;
}

void checkCanBeWritten(const WrittenFile &file) {
  std::error_code none;
  if (fs::exists(file.path, none) && !fs::is_regular_file(file.path, none)) {
    if (fs::is_directory(file.path, none))
      throw Error(file.what, file.path, "it is a folder", "name a file with " + file.flag);
    if (file.isRewound && !canBeRewound(file.path))
      throw Error(file.what, file.path, "it is a pipe or a terminal, and the file's head is written last",
                  "name a file with " + file.flag);
    return; // a pipe, which whoever reads it would see opened
  }
  io::OutputFile probe(file.path, file.what);
  check(probe.open());
}

} // namespace tessera::runtime
