#include "tessera/runtime/schedule/Text.h"

#include <algorithm>
#include <array>

namespace tessera::schedule {

static constexpr std::array<std::string_view, kKinds> kNames = {
    "F",      "B",           "I",           "W",       "SEND_F",  "RECV_F",      "SEND_B",
    "RECV_B", "WAIT_SEND_F", "WAIT_SEND_B", "UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD"};
// PyTorch writes this behind a pair.
static constexpr std::string_view kPairName = "OVERLAP_F_B";
// Numbers of stages and micro-batches stay below this; it keeps sums of them small too.
static constexpr int32_t kLargestNumber = 999999;

std::string_view kindName(Kind kind) { return kNames[size_t(kind)]; }

std::string toString(const Action &action) {
  if (action.isPair()) {
    Parts parts = partsOf(action);
    return "(" + toString(parts.part[0]) + ";" + toString(parts.part[1]) + ")";
  }
  std::string text = std::to_string(action.stage).append(kindName(action.kind));
  return ofWholeStage(action.kind) ? text : text + std::to_string(action.microBatch);
}

std::string toString(const ActionList &actions) {
  std::string text;
  for (const Action &action : actions)
    text += (text.empty() ? "" : " ") + toString(action);
  return text;
}

std::string toString(const Schedule &schedule) {
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    text += "r" + std::to_string(rank);
    for (const Action &action : schedule.ranks[rank])
      text += " " + toString(action);
    text += "\n";
  }
  return text;
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string_view withoutComment(std::string_view line) { return trimmed(line.substr(0, line.find('#'))); }

// Takes a number from the front of `text`; kNone if there is none, or one that is too large.
static int32_t takeNumber(std::string_view &text) {
  if (text.empty() || !isDigit(text.front()))
    return kNone;
  int32_t number = 0;
  for (; !text.empty() && isDigit(text.front()); text.remove_prefix(1)) {
    number = number * 10 + (text.front() - '0');
    if (number > kLargestNumber)
      return kNone;
  }
  return number;
}

static std::optional<Action> simpleAction(std::string_view text) {
  Action action;
  action.stage = takeNumber(text);
  std::string_view name =
      text.substr(0, size_t(std::find_if(text.begin(), text.end(), isDigit) - text.begin()));
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (action.stage == kNone || found == kNames.end())
    return std::nullopt;
  action.kind = Kind(found - kNames.begin());
  text.remove_prefix(name.size());
  if (!ofWholeStage(action.kind) && (action.microBatch = takeNumber(text)) == kNone)
    return std::nullopt;
  return text.empty() ? std::optional(action) : std::nullopt;
}

static std::optional<Action> pairedAction(std::string_view text) {
  size_t middle = text.find(';'), close = text.find(')');
  if (middle == text.npos || close == text.npos || close < middle)
    return std::nullopt;
  std::string_view behind = text.substr(close + 1);
  auto forward = simpleAction(trimmed(text.substr(1, middle - 1)));
  auto backward = simpleAction(trimmed(text.substr(middle + 1, close - middle - 1)));
  if (!forward || !backward || forward->kind != Kind::Forward || backward->kind != Kind::Backward ||
      (!behind.empty() && behind != kPairName))
    return std::nullopt;
  forward->pairedStage = backward->stage;
  forward->pairedMicroBatch = backward->microBatch;
  return forward;
}

Result<Action> parseAction(std::string_view text, const std::string &where) {
  text = trimmed(text);
  bool pair = !text.empty() && text.front() == '(';
  if (auto action = pair ? pairedAction(text) : simpleAction(text))
    return *action;
  return Failure{"cannot read the schedule", where, "\"" + std::string(text) + "\" is no action",
                 pair ? "a forward and a backward, as (2F3;1B0)"
                      : "a stage, a kind and a micro-batch, as 0F1, 2B0, 1SEND_F3 or 0UNSHARD"};
}

Result<ActionList> parseActions(std::string_view text, const std::string &where) {
  ActionList list;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    size_t length = 0;
    bool inside = false; // of a pair, which may hold blanks
    for (; length < text.size() && (inside || !isBlank(text[length])); ++length)
      inside = text[length] == '(' || (inside && text[length] != ')');
    Result<Action> action = parseAction(text.substr(0, length), where);
    if (!action)
      return action.takeFailure();
    list.push_back(*action);
    text.remove_prefix(length);
  }
  return list;
}

bool isRankLine(std::string_view line) { return line.size() > 1 && line[0] == 'r' && isDigit(line[1]); }

Status RankLists::add(std::string_view line, const std::string &where) {
  std::string_view rest = line.substr(std::min<size_t>(1, line.size()));
  const int32_t rank = takeNumber(rest);
  auto fail = [&](std::string why) {
    return Failure{"cannot read the schedule", where, std::move(why), "one line a rank, as \"r0 0F0 0B0\""};
  };
  if (!isRankLine(line) || rank == kNone || (!rest.empty() && !isBlank(rest.front())))
    return fail("\"" + std::string(line.substr(0, 20)) + "\" is no line of a rank");
  Result<ActionList> list = parseActions(rest, where);
  if (!list)
    return list.takeFailure();
  if (!lists_.emplace(rank, list.take()).second)
    return fail("r" + std::to_string(rank) + " has a line already");
  return {};
}

Result<std::vector<ActionList>> RankLists::take(const std::string &where) {
  std::vector<ActionList> ranks;
  for (auto &[rank, list] : lists_) {
    if (rank != int32_t(ranks.size()))
      return Failure{"cannot read the schedule", where,
                     "the line of r" + std::to_string(ranks.size()) + " is missing, and there is one of r" +
                         std::to_string(rank),
                     "one line a rank, from r0 on"};
    ranks.push_back(std::move(list));
  }
  return ranks;
}

static Result<ActionList> parseRow(std::string_view row, const std::string &where) {
  ActionList list;
  while (!row.empty()) {
    size_t comma = std::min(row.find(','), row.size());
    std::string_view cell = trimmed(row.substr(0, comma));
    row.remove_prefix(std::min(comma + 1, row.size()));
    if (cell.empty())
      continue;
    Result<Action> action = parseAction(cell, where);
    if (!action)
      return action.takeFailure();
    list.push_back(*action);
  }
  return list;
}

Result<Schedule> parseSchedule(std::string_view text, const std::string &path) {
  RankLists lines;
  std::vector<ActionList> rows;
  bool isFirst = true, csv = false;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = withoutComment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty())
      continue;
    if (isFirst)
      csv = !isRankLine(content);
    isFirst = false;
    std::string where = path + ":" + std::to_string(line);
    if (!csv) {
      if (Status status = lines.add(content, where); !status)
        return status.takeFailure();
      continue;
    }
    Result<ActionList> row = parseRow(content, where);
    if (!row)
      return row.takeFailure();
    rows.push_back(row.take());
  }
  if (isFirst)
    return Failure{"cannot read the schedule", path, "it has no line of a rank",
                   "lines as \"r0 0F0 0F1 0B0 0B1\", or PyTorch's CSV"};
  if (csv)
    return scheduleOf(std::move(rows));
  Result<std::vector<ActionList>> ranks = lines.take(path);
  if (!ranks)
    return ranks.takeFailure();
  return scheduleOf(ranks.take());
}

} // namespace tessera::schedule
