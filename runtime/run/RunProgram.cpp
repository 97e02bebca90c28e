#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/run/ProgramRun.h"

#include <cstdio>
#include <cstdlib>

namespace tessera::runtime {

static Status runProgram(int argc, char **argv, const RunFunction &run) {
  if (argc < 4 || argc > 5)
    return Failure{"cannot run", "arguments", "there are " + std::to_string(argc - 1),
                   "run-program LIBRARY CALLS OUT [WEIGHTS]"};
  Result<LoadedProgram> program = LoadedProgram::open(argv[1]);
  if (!program)
    return program.takeFailure();
  std::vector<ProgramCall> calls;
  if (Status s = readCalls(argv[2], calls); !s)
    return s;
  RunOptions options;
  if (argc == 5)
    options.weights = argv[4];
  if (Status s = run(program->program(), options, calls); !s)
    return s;
  for (ProgramCall &call : calls)
    call.inputs.clear();
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank && getenv("TORCHELASTIC_RUN_ID"))
    rank = getenv("RANK");
  return writeCalls(std::string(argv[3]) + (rank ? "." + std::string(rank) : ""), calls);
}

int runProgramMain(int argc, char **argv, const RunFunction &run) {
  std::string problem;
  try {
    Status status = runProgram(argc, argv, run);
    if (status)
      return 0;
    problem = status.failure().message();
  } catch (const Error &error) { // a setting
    problem = error.what();
  }
  fprintf(stderr, "error: %s\n", problem.c_str());
  return 1;
}

} // namespace tessera::runtime
