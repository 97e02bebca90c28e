// What saving asks of a file system. Behind an interface so that tests can stop it at any operation, fill the
// disk, or lose what was not yet brought to it.
#ifndef TESSERA_RUNTIME_CHECKPOINT_FILESYSTEM_H
#define TESSERA_RUNTIME_CHECKPOINT_FILESYSTEM_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::checkpoint {

// Functions return 0, or what errno says. One thread uses a file; any number use a file system.
class OutputHandle {
public:
  virtual ~OutputHandle() = default;
  // The file has this size from now on, and a place on the disk where the file system promises that.
  virtual int allocate(uint64_t bytes) = 0;
  virtual int writeAt(const void *data, size_t bytes, uint64_t offset) = 0; // all of it
  virtual int sync() = 0;
};

class FileSystem {
public:
  virtual ~FileSystem() = default;
  virtual int makeFolder(const std::string &path) = 0; // EEXIST if it is there
  virtual int create(const std::string &path,
                     std::unique_ptr<OutputHandle> &handle) = 0; // empty, even if it was there
  virtual int openToWrite(const std::string &path, std::unique_ptr<OutputHandle> &handle) = 0;
  virtual int rename(const std::string &from, const std::string &to) = 0;
  virtual int exchange(const std::string &a,
                       const std::string &b) = 0;      // both names are there at every moment
  virtual int remove(const std::string &path) = 0;     // a file, or an empty folder
  virtual int syncFolder(const std::string &path) = 0; // the names in it
  virtual int list(const std::string &path,
                   std::vector<std::string> &names) = 0;            // ENOTDIR of what is no folder
  virtual int read(const std::string &path, std::string &text) = 0; // a regular file of 256 MiB at most
};

// The system's.
FileSystem &realFiles();

} // namespace tessera::checkpoint
#endif
