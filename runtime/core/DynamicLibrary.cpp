#include "tessera/runtime/core/DynamicLibrary.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

static bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

static std::string environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static std::vector<std::string> matching(const std::string &pattern) {
  std::vector<std::string> paths;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::reverse(paths.begin(), paths.end()); // newer versions, mostly, come first
  return paths;
}

// Where Python's packages below `prefix` are, without asking Python.
static void addSitePackages(const std::string &prefix, std::vector<std::string> &folders) {
  for (const char *pattern : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages",
                              "/local/lib/python3*/dist-packages", "/lib64/python3*/site-packages"})
    for (std::string &folder : matching(prefix + pattern))
      folders.push_back(std::move(folder));
}

std::vector<std::string> libraryFolders(const LibraryRequest &request) {
  std::vector<std::string> packages;
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string prefix = environment(variable); !prefix.empty())
      addSitePackages(prefix, packages);
  std::string path = environment("PATH");
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::string folder = path.substr(begin, end - begin);
    begin = end + 1;
    size_t slash = folder.rfind('/'); // PREFIX/bin
    if (slash != std::string::npos && exists(folder + "/python3"))
      addSitePackages(folder.substr(0, slash), packages);
  }
  if (std::string home = environment("HOME"); !home.empty())
    addSitePackages(home + "/.local", packages);

  std::vector<std::string> folders;
  auto add = [&](const std::string &folder) {
    if (isFolder(folder) && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  };
  for (const std::string &package : packages)
    for (const std::string &below : request.packageFolders)
      add(package + "/" + below);
  if (std::string prefix = environment("CONDA_PREFIX"); !prefix.empty())
    add(prefix + "/lib");
  for (const std::string &toolkit :
       {environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!toolkit.empty())
      add(toolkit + "/lib64");
  return folders;
}

DynamicLibrary openLibrary(const LibraryRequest &request) {
  std::string names;
  for (const std::string &name : request.names)
    names += (names.empty() ? "" : " or ") + name;
  std::string refused; // why a file that is there could not be opened
  auto tryOpen = [&](const std::string &path) -> void * {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? nullptr : dlerror();
    // A plain name that the loader does not find is no news.
    if (why && refused.empty() && (path[0] == '/' || !strstr(why, "No such file")))
      refused = why;
    return handle;
  };

  std::string given = request.variable ? environment(request.variable) : "";
  if (!given.empty()) {
    std::vector<std::string> files = {given};
    if (isFolder(given)) {
      files.clear();
      for (const std::string &name : request.names)
        files.push_back(given + "/" + name);
    }
    for (const std::string &file : files)
      if (void *handle = tryOpen(file))
        return {handle, file};
    throw Error("cannot open " + request.title, std::string(request.variable) + "=" + given,
                refused.empty() ? "there is no " + names : refused,
                "name the file or its folder, or unset " + std::string(request.variable));
  }

  for (const std::string &name : request.names)
    if (void *handle = tryOpen(name))
      return {handle, name};
  std::vector<std::string> folders = libraryFolders(request);
  for (const std::string &folder : folders)
    for (const std::string &name : request.names)
      if (std::string file = folder + "/" + name; exists(file))
        if (void *handle = tryOpen(file))
          return {handle, file};
  if (!refused.empty())
    throw Error("cannot open " + request.title, names, refused, request.hint);
  std::string looked = "it is not on the loader's path";
  for (const std::string &folder : folders)
    looked += ", nor in " + folder;
  std::string hint = request.hint;
  if (request.variable)
    hint += (hint.empty() ? "name it with " : ", or name it with ") + std::string(request.variable);
  throw Error("cannot open " + request.title, names, looked, hint);
}

void *DynamicLibrary::symbol(const LibraryRequest &request, const char *name) const {
  void *address = dlsym(handle, name);
  if (!address)
    throw Error("cannot use " + request.title, path, std::string("it lacks ") + name,
                request.hint.empty() ? "install a newer version" : request.hint);
  return address;
}

} // namespace tessera::runtime
