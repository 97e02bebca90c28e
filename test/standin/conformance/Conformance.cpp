// standin-conformance [NAME...]: what we take the CUDA driver API to do, held to the driver that is found:
// the stand-in's, or a GPU's. A difference is a fault of the stand-in. Runs all tests, or those whose names
// begin with a NAME.
#include "Suite.h"

#include <cstdio>
#include <cstring>

using namespace conformance;

int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  int passed = 0, failed = 0;
  for (const Test &test : tests()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= strncmp(test.name, argv[i], strlen(argv[i])) == 0;
    if (!wanted)
      continue;
    try {
      api();
      test.body();
      ++passed;
      printf("passed %s\n", test.name);
    } catch (const Failure &failure) {
      ++failed;
      printf("FAILED %s (%s)\n", test.name, failure.text.c_str());
    }
  }
  if (api().cuDevicePrimaryCtxRelease(0))
    ++failed;
  printf("%s: %d passed, %d failed\n", api().isStandin ? "stand-in" : "driver", passed, failed);
  return failed ? 1 : 0;
}
