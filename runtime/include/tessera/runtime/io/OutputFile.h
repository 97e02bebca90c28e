// A file being written. It is whole before it has its name: until finish() whatever had that name stays as it
// is, however this process ends. What is no file (a pipe, /dev/full) is written to as it is.
#ifndef TESSERA_RUNTIME_IO_OUTPUTFILE_H
#define TESSERA_RUNTIME_IO_OUTPUTFILE_H

#include "tessera/runtime/Result.h"

#include <cstddef>
#include <string>

namespace tessera::io {

class OutputFile {
public:
  // `what`: begins the line of every failure ("cannot write tensors").
  OutputFile(std::string path, std::string what) : path_(std::move(path)), what_(std::move(what)) {}
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  Status open();
  Status write(const void *data, size_t bytes);
  Status rewind(); // what is written next begins the file
  Status finish(); // the file has its name only after this

private:
  template <typename Make> bool inTemporaryName(Make make);
  Failure failure() const;

  std::string path_, what_;
  std::string target_, temporary_; // temporary_: the file's name until finish(), if it has one
  int fd_ = -1;
  bool unnamed_ = false;
};

} // namespace tessera::io
#endif
