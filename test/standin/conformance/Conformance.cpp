// standin-conformance [NAME...]: what we take the CUDA driver API to do, held to the driver that is found:
// the stand-in's, or a GPU's. A difference is a fault of the stand-in. Runs all tests, or those whose names
// begin with a NAME.
#include "Suite.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace conformance;

// Runs one test in this process; why it failed, empty where it did not.
static std::string outcome(const Test &test) {
  try {
    api();
    test.body();
    return "";
  } catch (const Failure &failure) {
    return failure.text;
  }
}

// Runs it in a process of its own, which has not opened the driver yet.
static std::string outcomeAlone(const Test &test) {
  auto [status, said] = runAgain({"standin-conformance", test.name}, STDOUT_FILENO, "CONFORMANCE_ALONE", "1");
  return status == 0 ? "" : "alone: " + said.substr(0, said.find('\n'));
}

int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  bool inside = getenv("CONFORMANCE_ALONE") != nullptr;
  int passed = 0, failed = 0;
  for (const Test &test : tests()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= strncmp(test.name, argv[i], strlen(argv[i])) == 0;
    if (!wanted)
      continue;
    std::string why = test.alone && !inside ? outcomeAlone(test) : outcome(test);
    if (why.empty())
      printf("passed %s\n", test.name);
    else
      printf("FAILED %s (%s)\n", test.name, why.c_str());
    ++(why.empty() ? passed : failed);
  }
  if (inside)
    _exit(failed != 0); // its context is lost
  if (api().cuDevicePrimaryCtxRelease(0))
    ++failed;
  printf("%s: %d passed, %d failed\n", api().isStandin ? "stand-in" : "driver", passed, failed);
  return failed ? 1 : 0;
}
