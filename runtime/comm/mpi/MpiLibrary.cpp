#include "MpiLibrary.h"
#include "tessera/runtime/core/Error.h"

#include <dlfcn.h>

namespace tessera::runtime {

static void load(MpiLibrary &mpi) {
  // Global: Open MPI's own plugins look its symbols up in the process.
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw Error("cannot open MPI", "libmpi.so.40", dlerror(),
                "install Open MPI: apt-get install openmpi-bin, or start the program alone");
  auto symbol = [&](const char *name) {
    void *address = dlsym(library, name);
    if (!address)
      throw Error("cannot use MPI", "libmpi.so.40", std::string("it lacks ") + name,
                  "install Open MPI 4: apt-get install openmpi-bin");
    return address;
  };
#define TESSERA_MPI_LOAD(name, result, arguments)                                                            \
  mpi.name = reinterpret_cast<result(*) arguments>(symbol("MPI_" #name));
  TESSERA_MPI_FUNCTIONS(TESSERA_MPI_LOAD)
#undef TESSERA_MPI_LOAD
#define TESSERA_MPI_LOAD(name, text) mpi.name = symbol(text);
  TESSERA_MPI_OBJECTS(TESSERA_MPI_LOAD)
#undef TESSERA_MPI_LOAD
}

const MpiLibrary &MpiLibrary::get() {
  static MpiLibrary mpi;
  static std::once_flag once;
  std::call_once(once, [] { load(mpi); });
  return mpi;
}

void MpiLibrary::expect(int code, const char *what) const {
  if (code == 0)
    return;
  char text[mpiMaxErrorString] = "";
  int length = 0;
  Error_string(code, text, &length);
  throw Error("cannot communicate", what, std::string(text, size_t(length)),
              "look at the launcher's messages");
}

} // namespace tessera::runtime
