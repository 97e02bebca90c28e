// Libraries that are opened at run time: where they are looked for, and what is said of one that is missing.
#ifndef TESSERA_RUNTIME_CORE_DYNAMICLIBRARY_H
#define TESSERA_RUNTIME_CORE_DYNAMICLIBRARY_H

#include <string>
#include <vector>

namespace tessera::runtime {

struct LibraryRequest {
  std::string title;              // "cuBLASLt": for messages
  std::vector<std::string> names; // "libcublasLt.so.13": the first that there is
  // The variable of the environment that names the file, or its folder; then nothing else is tried.
  const char *variable = nullptr;
  // Folders of Python packages that have it, below site-packages: "nvidia/cu13/lib".
  std::vector<std::string> packageFolders;
  std::string hint; // "install it: pip install nvidia-cublas"
};

// Where `request` is looked for beside the loader's own path, in this order: the packages of $VIRTUAL_ENV and
// $CONDA_PREFIX, of every `python3` on $PATH, of ~/.local; $CONDA_PREFIX/lib; $CUDA_HOME, $CUDA_PATH and
// /usr/local/cuda. Only folders that exist.
std::vector<std::string> libraryFolders(const LibraryRequest &request);

struct DynamicLibrary {
  void *handle = nullptr;
  std::string path; // what dlopen was given

  // Throws Error naming the library's version and the symbol if it has none of that name.
  void *symbol(const LibraryRequest &request, const char *name) const;
};

// Opens it; stays open for good. Throws Error that says what is missing, where it was looked for and what to
// do.
DynamicLibrary openLibrary(const LibraryRequest &request);

} // namespace tessera::runtime
#endif
