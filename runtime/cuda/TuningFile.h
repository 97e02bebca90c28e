// What was measured before, kept in a file for each kind of machine: lines "KEY = VALUE".
#ifndef TESSERA_RUNTIME_CUDA_TUNINGFILE_H
#define TESSERA_RUNTIME_CUDA_TUNINGFILE_H

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tessera::runtime {

class TuningFile {
public:
  using Remark = std::function<void(const std::string &)>;
  using IsValue = std::function<bool(const std::string &)>;
  // `subject`: whose choices they are, "products"; `machine`: what they hold for, "NVIDIA H200, 132
  // multiprocessors, cuBLASLt 130100". In the folder TESSERA_TUNING, else in tessera/ below $XDG_CACHE_HOME
  // or ~/.cache. An empty TESSERA_TUNING: nothing is read or written. A file that cannot be read, or has what
  // is no value, counts as empty; `remark` is told why, and why one cannot be written: all is measured
  // again.
  TuningFile(const std::string &subject, const std::string &machine, IsValue isValue, Remark remark);

  std::optional<std::string> find(const std::string &key) const;
  void add(const std::string &key, const std::string &value);
  // Writes what was added, beside what other processes wrote meanwhile.
  void save();
  const std::string &path() const { return path_; } // empty: turned off

private:
  using Table = std::map<std::string, std::string>;
  Table read(const Remark &remark) const;
  bool write(const Table &all, const std::string &path) const;

  std::string subject_;
  IsValue isValue_;
  Remark remark_;
  std::string path_, title_;
  Table known_, added_;
};

} // namespace tessera::runtime
#endif
