// What a target links.
#ifndef TESSERA_TARGET_LINKOPTIONS_H
#define TESSERA_TARGET_LINKOPTIONS_H

#include <string>
#include <vector>

namespace tessera {

struct LinkOptions {
  std::vector<std::string> objects;     ///< in order, compiler's object first
  std::vector<std::string> archives;    ///< searched as one group, may depend on each other
  std::vector<std::string> libraries;   ///< shared libraries: "dnnl" (searched for as -ldnnl) or a path
  std::vector<std::string> searchPaths; ///< looked at before the system's
  std::string linker;                   ///< path of ld.lld; empty: PATH, then /usr/lib/llvm-22/bin
  bool shared = false;                  ///< a shared library, a file of our own, not an executable
};

} // namespace tessera
#endif
