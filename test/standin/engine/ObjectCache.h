// Host code of kernels, kept beside their bitcode: the next process that launches them need not compile.
#ifndef TESSERA_STANDIN_OBJECTCACHE_H
#define TESSERA_STANDIN_OBJECTCACHE_H

#include <string>

namespace standin {

class ObjectCache {
public:
  // The name of the file holds a hash of all that the code depends on: the bitcode, this build of the engine,
  // the machine.
  ObjectCache(const std::string &bitcodePath, const std::string &bitcode, bool races);
  std::string read() const;                    // empty: not there
  void write(const std::string &object) const; // where it cannot be written, it is not kept

private:
  std::string path;
};

} // namespace standin
#endif
