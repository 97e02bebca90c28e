// Files that a command must not lose: what it reads, and what it writes.
#ifndef TESSERA_RUNTIME_IO_KEPTFILES_H
#define TESSERA_RUNTIME_IO_KEPTFILES_H

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::io {

// All that a command reads is told first, then each file that it is to write: names, links to files and other
// spellings of a path all count as the file that they mean, also where none is yet. Never fails: what cannot
// be looked at is not there.
class KeptFiles {
public:
  // `why`: what an error says of it, "it is the file of --machine, which would be lost". An empty path is
  // none.
  void add(const std::string &path, const std::string &why);
  // The files of the model at `path`: the file itself, or of a directory all weights, whichever it is loaded
  // from, its texts, and what its index names; and what is not there, but would be read.
  void addModel(const std::string &path);
  // Every file of a folder, but none of folders in it.
  void addFolder(const std::string &folder, const std::string &why);

  // Why no file may be written at `path`; empty: nothing would be lost. Then the path is kept from now on, as
  // what `flag` ("-o", "--log=") writes. Devices and pipes lose nothing.
  std::string claim(const std::string &path, const std::string &flag);

private:
  struct File {
    std::string path;
    std::filesystem::path place;
    std::string why;
  };
  std::vector<File> files_;
};

} // namespace tessera::io
#endif
