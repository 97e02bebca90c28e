// run-program-checked LIBRARY CALLS OUT [WEIGHTS]: run-program with the driver `checked`, in
// TESSERA_CHECKED_ORDERS orders (default 1) of seeds from TESSERA_CHECKED_SEED on. All of them must give the
// same bits.
#include "CheckedDriver.h"
#include "tessera/runtime/run/ProgramRun.h"

using namespace tessera;
using namespace tessera::runtime;

static bool sameBits(const std::vector<ProgramCall> &a, const std::vector<ProgramCall> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].outputs != b[i].outputs || a[i].states != b[i].states)
      return false;
  return true;
}

int main(int argc, char **argv) {
  return runProgramMain(
      argc, argv,
      [&](const ts_program &program, const RunOptions &options, std::vector<ProgramCall> &calls) -> Status {
        const std::vector<ProgramCall> given = calls;
        uint64_t first = checkedSetting("TESSERA_CHECKED_SEED", 0),
                 orders = checkedSetting("TESSERA_CHECKED_ORDERS", 1);
        for (uint64_t seed = first; seed < first + orders; ++seed) {
          std::vector<ProgramCall> found = given;
          setCheckedSeed(seed);
          if (Status s = runCalls(program, options, found); !s)
            return s;
          if (seed == first)
            calls = std::move(found);
          else if (!sameBits(calls, found))
            if (Status s = writeCalls(std::string(argv[3]) + ".seed-" + std::to_string(seed), found); !s)
              return s;
        }
        return {};
      });
}
