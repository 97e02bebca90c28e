// The text form of schedules: `r0 0F0 0SEND_F0 (2F3;1B0)`, a line a rank, and the CSV that PyTorch writes, a
// row a rank. docs/Schedules.md lists the actions.
#ifndef TESSERA_RUNTIME_SCHEDULE_TEXT_H
#define TESSERA_RUNTIME_SCHEDULE_TEXT_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/schedule/Schedule.h"

#include <map>
#include <string_view>

namespace tessera::schedule {

// The letters of a kind: `F`, `SEND_F`.
std::string_view kindName(Kind kind);

std::string toString(const Action &action);
std::string toString(const ActionList &actions);
// `r0 ...` and so on, each line with its end.
std::string toString(const Schedule &schedule);

// An action, and actions with blanks between. Errors name the text that is none; `where` is theirs.
Result<Action> parseAction(std::string_view text, const std::string &where = "");
Result<ActionList> parseActions(std::string_view text, const std::string &where = "");

// Whether it begins as a rank's line, `r3 1F0 ...`.
bool isRankLine(std::string_view line);
// Lines of ranks, in any order.
class RankLists {
public:
  // Refuses what is no such line, and a rank's second one.
  Status add(std::string_view line, const std::string &where = "");
  // The lists of ranks from 0 on; refuses a gap.
  Result<std::vector<ActionList>> take(const std::string &where = "");

private:
  std::map<int32_t, ActionList> lists_;
};

// A whole file: rank lines, or CSV; `#` begins a comment. `path` is for errors, which name the
// line. Only the form is looked at: validate (Validate.h) says whether such a schedule can run.
Result<Schedule> parseSchedule(std::string_view text, const std::string &path);

// Text without blanks at its ends and without a comment.
std::string_view withoutComment(std::string_view line);

} // namespace tessera::schedule
#endif
