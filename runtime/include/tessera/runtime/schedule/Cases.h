// Cases of schedules as text: what `schedule-facts` reads and prints. docs/Schedules.md has the form.
#ifndef TESSERA_RUNTIME_SCHEDULE_CASES_H
#define TESSERA_RUNTIME_SCHEDULE_CASES_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Simulate.h"

namespace tessera::schedule {

// `case NAME p=P m=M ...` and the lines below it.
struct Case {
  std::string line; // the first, as written
  std::string path; // of the file, for messages
  int number = 0;   // of that line
  // Lines `r0 ...`: the schedule of a `case file`, what is expected of others. Then what else is expected:
  // the line of numbers, or of the error; empty where nothing is.
  std::vector<std::string> lists;
  std::string expected;

  struct Report {
    // The line, then lists and a line of numbers, or `error WHY`; after the error of a file its grid as
    // comments.
    std::string text;
    std::vector<std::string> failures; // expectations that do not hold
  };
  Report run() const;
};

// Reads cases; `#` begins a comment. Errors name lines that belong to no case; what is wrong within one is
// what its report says.
Result<std::vector<Case>> parseCases(std::string_view text, const std::string &path);

} // namespace tessera::schedule
#endif
