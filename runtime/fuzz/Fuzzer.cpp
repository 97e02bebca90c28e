// The fuzzer: `tessera-fuzz --target=NAME [libFuzzer's flags] CORPUS...`. See scripts/fuzz inputs.
#include "Targets.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static const tessera::fuzz::Target *chosen;

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  for (int i = 1; i < *argc; ++i)
    if (std::strncmp((*argv)[i], "--target=", 9) == 0)
      for (const tessera::fuzz::Target &target : tessera::fuzz::targets())
        if (std::strcmp(target.name, (*argv)[i] + 9) == 0)
          chosen = &target;
  if (chosen)
    return 0;
  std::fprintf(stderr, "error: bad command line (--target): it is missing or unknown; give one of");
  for (const tessera::fuzz::Target &target : tessera::fuzz::targets())
    std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen->run({reinterpret_cast<const char *>(data), size});
  return 0;
}
