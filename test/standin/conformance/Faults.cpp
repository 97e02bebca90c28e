// standin-faults [SEEDS]: plants one fault after another, each in a process of its own and in SEEDS orders
// (default 2), and says whether the stand-in named it; the same program without the fault has to pass without
// a line.
#include "Faults.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace conformance;

std::vector<Fault> &conformance::faults() {
  static std::vector<Fault> all;
  return all;
}

static ChildOutcome runAlone(const Fault &fault, int seed, bool right) {
  return runAgain({"standin-faults", "--plant", fault.name, right ? "right" : "wrong"}, STDERR_FILENO,
                  "TESSERA_STANDIN_SEED", std::to_string(seed));
}

static int plant(const char *name, bool right) {
  for (const Fault &fault : faults())
    if (!strcmp(fault.name, name)) {
      try {
        api();
        fault.body(right);
        return api().cuDevicePrimaryCtxRelease(0) != 0;
      } catch (const Failure &failure) {
        fprintf(stderr, "the call failed: %s\n", failure.text.c_str());
        _exit(1);
      }
    }
  return 127;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--plant"))
    return plant(argv[2], !strcmp(argv[3], "right"));
  int seeds = argc > 1 ? atoi(argv[1]) : 2, found = 0, missed = 0;
  for (const Fault &fault : faults()) {
    std::string wrong;
    for (int seed = 1; seed <= seeds && wrong.empty(); ++seed) {
      ChildOutcome planted = runAlone(fault, seed, false), without = runAlone(fault, seed, true);
      size_t line = planted.said.find("stand-in: ");
      // It ends the process, or a call fails as a driver's would.
      if (planted.status != 86 && planted.status != 1)
        wrong = "ended with " + std::to_string(planted.status) + ": " + planted.said;
      else if (line == std::string::npos || planted.said.find(fault.says, line) == std::string::npos)
        wrong = "it said: " + planted.said;
      else if (without.status != 0 || !without.said.empty())
        wrong = "without the fault it ended with " + std::to_string(without.status) + ": " + without.said;
      if (!wrong.empty())
        wrong = "seed " + std::to_string(seed) + ", " + wrong;
    }
    printf("%s %s%s%s\n", wrong.empty() ? "found" : "MISSED", fault.name, wrong.empty() ? "" : ": ",
           wrong.c_str());
    ++(wrong.empty() ? found : missed);
  }
  printf("faults of the API: %d found, %d missed\n", found, missed);
  return missed ? 1 : 0;
}
