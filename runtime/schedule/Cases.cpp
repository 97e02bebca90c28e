#include "tessera/runtime/schedule/Cases.h"

#include "tessera/runtime/schedule/CostText.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace tessera::schedule {

namespace {

// A case with its words read.
struct Options {
  std::optional<Name> name; // none: the lists of the file
  int32_t ranks = 0, microBatches = 0, stagesPerRank = 0;
  std::optional<Lowering> lowering;
  int32_t active = 3;
  Costs costs;
  Transport transport;
  bool bytes = false;
};

// Reads the words `KEY=VALUE` of a case line one by one; the first that is wrong is what remains.
class OptionReader {
public:
  Result<Options> read(const std::string &line) {
    std::vector<std::string> words;
    for (size_t at = 0; at < line.size();) {
      size_t end = std::min(line.find_first_of(" \t", at), line.size());
      if (end > at)
        words.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (words.size() < 2)
      return wrong("a case has no name", "case 1f1b p=4 m=8");
    if (words[1] != "file" && !(options_.name = scheduleFromName(words[1])))
      return wrong("no schedule is called \"" + words[1] + "\"", "file, " + scheduleNames());
    for (size_t i = 2; i < words.size(); ++i)
      if (Status status = word(words[i]); !status)
        return status.takeFailure();
    if (!options_.ranks || !options_.microBatches)
      return wrong("p and m are needed", "p=4 m=8");
    if (!received_ && options_.lowering == Lowering::Late)
      options_.transport.postedReceives = false;
    return std::move(options_);
  }

private:
  static Failure wrong(std::string why, std::string hint) {
    return {"wrong case", "", std::move(why), std::move(hint)};
  }

  Status word(const std::string &word) {
    size_t equals = word.find('=');
    std::string key = word.substr(0, equals), value = equals == word.npos ? "" : word.substr(equals + 1);
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end())
      return wrong(key + " is given twice", "give it once");
    seen_.push_back(key);
    const std::map<std::string, std::pair<int32_t *, int32_t>> counts = {{"p", {&options_.ranks, 1}},
                                                                         {"m", {&options_.microBatches, 1}},
                                                                         {"v", {&options_.stagesPerRank, 1}},
                                                                         {"active", {&options_.active, 1}}};
    if (auto found = counts.find(key); found != counts.end())
      return number(key, value, *found->second.first, found->second.second);
    if (std::vector<double> *cost = costOf(options_.costs, key)) {
      options_.bytes |= key == "hold";
      return readCost(key, value, *cost);
    }
    if (key == "lower") {
      options_.lowering = loweringFromName(value);
      return options_.lowering ? Status()
                               : wrong("lower=" + value + " is no lowering", "late, eager or full");
    }
    if (key == "recv") {
      received_ = true;
      options_.transport.postedReceives = value == "posted";
      return value == "posted" || value == "blocking"
                 ? Status()
                 : wrong("recv=" + value + " is no way to receive", "blocking or posted");
    }
    if (key == "sends") {
      options_.transport.synchronousSends = value == "sync";
      return value == "sync" ? Status() : number(key, value, options_.transport.sendBuffers, 0);
    }
    return wrong("a case has no \"" + key + "\"",
                 "p, m, v, lower, active, F, I, W, pair, link, wire, sends, recv, hold, free or made");
  }

  static Status number(const std::string &key, const std::string &value, int32_t &number, int32_t least) {
    bool digits = !value.empty() && value.size() < 8 && value.find_first_not_of("0123456789") == value.npos;
    number = digits ? int32_t(std::atoi(value.c_str())) : -1;
    return number >= least
               ? Status()
               : wrong(key + "=" + value + " is no number from " + std::to_string(least) + " on", key + "=4");
  }

  Options options_;
  std::vector<std::string> seen_;
  bool received_ = false;
};

std::string numberText(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

} // namespace

// The schedule that a case is about, before it is lowered.
static Result<Schedule> scheduleOf(const Options &options, const Case &c) {
  if (options.name) {
    Result<Schedule> made =
        generate(*options.name, options.ranks, options.microBatches, options.stagesPerRank);
    if (!made) // the case's own line says where
      return Failure{"wrong case", "", made.failure().why, made.failure().hint};
    return made;
  }
  RankLists lines;
  for (const std::string &line : c.lists)
    if (Status status = lines.add(line, line.substr(0, line.find(' '))); !status)
      return status.takeFailure();
  Result<std::vector<ActionList>> read = lines.take();
  if (!read)
    return read.takeFailure();
  std::vector<ActionList> ranks = read.take();
  if (int32_t(ranks.size()) != options.ranks)
    return Failure{"wrong case", "",
                   "there are lines of " + std::to_string(ranks.size()) + " ranks, p is " +
                       std::to_string(options.ranks),
                   "one line a rank"};
  int64_t stages = int64_t(options.ranks) * options.stagesPerRank, actions = 0;
  for (const ActionList &list : ranks)
    actions += int64_t(list.size());
  // Too few by far: what is missing is not looked for one by one.
  if (std::max<int64_t>(stages, 1) * options.microBatches > 2 * actions + 1000)
    return Failure{"wrong case", "",
                   "the lists have " + std::to_string(actions) +
                       " actions, far fewer than stages and micro-batches",
                   "smaller numbers, or longer lists"};
  return scheduleOf(std::move(ranks), options.microBatches, stages ? int32_t(stages) : kNone);
}

static std::string numbersLine(const Schedule &schedule, const Simulation &run, const Options &options) {
  std::string text = "makespan " + numberText(run.makespan) + " busy";
  for (double busy : run.busy)
    text += " " + numberText(busy);
  std::vector<Held> held = heldAtMost(schedule, options.costs);
  text += " peak";
  for (const Held &one : held)
    text += " " + std::to_string(one.activations);
  text += options.bytes ? " bytes" : "";
  for (const Held &one : held)
    text += options.bytes ? " " + numberText(one.bytes) : "";
  return text;
}

// What a case has as parts of `hold` costs have as bytes.
static void readParts(Costs &costs, int32_t stages) {
  for (std::vector<double> *parts : {&costs.freed, &costs.made}) {
    std::vector<double> bytes;
    for (int32_t stage = 0; stage < stages; ++stage)
      bytes.push_back(Costs::of(costs.hold, stage) * Costs::of(*parts, stage));
    *parts = std::move(bytes);
  }
}

Case::Report Case::run() const {
  Report report{line + "\n", {}};
  std::string last; // numbers or error
  auto failed = [&](const Failure &failure) {
    last = "error " + (failure.where.empty() ? "" : failure.where + ": ") + failure.why +
           (failure.hint.empty() ? "" : "; " + failure.hint);
  };
  auto expect = [&] {
    report.text += last + "\n";
    if (!expected.empty() && expected != last)
      report.failures.push_back(path + ":" + std::to_string(number) + ": \"" + last + "\", expected \"" +
                                expected + "\"");
    return std::move(report);
  };
  Result<Options> options = OptionReader().read(line);
  if (!options)
    return failed(options.failure()), expect();
  Result<Schedule> read = scheduleOf(*options, *this);
  if (!read)
    return failed(read.failure()), expect();
  if (Status status = checkCosts(options->costs, read->numStages()); !status)
    return failed(status.failure()), expect();

  readParts(options->costs, read->numStages());
  bool lowered = false;
  for (const ActionList &list : read->ranks)
    lowered |=
        !std::all_of(list.begin(), list.end(), [](const Action &action) { return computes(action.kind); });
  std::optional<Problem> problem = validate(*read, options->transport);
  if (!problem && options->lowering) {
    if (lowered)
      return failed({"", "", "the lists have more than computing actions, and are lowered already", ""}),
             expect();
    *read = lower(*read, *options->lowering, options->active);
    problem = validate(*read, options->transport);
  }
  if (problem) {
    last = "error " + problem->why;
    Report refused = expect();
    std::string lines = options->name ? "" : grid(*read, *problem);
    for (size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
      refused.text += "# " + lines.substr(at, lines.find('\n', at) + 1 - at);
    return refused;
  }
  std::string text = toString(*read);
  report.text += text;
  last = numbersLine(*read, simulate(*read, options->costs, options->transport), *options);
  std::string wanted;
  for (const std::string &list : lists)
    wanted += list + "\n";
  if (options->name && !lists.empty() && wanted != text)
    report.failures.push_back(path + ":" + std::to_string(number) + ": the lists differ from those expected");
  return expect();
}

Result<std::vector<Case>> parseCases(std::string_view text, const std::string &path) {
  std::vector<Case> cases;
  auto startsWith = [](std::string_view line, std::string_view word) {
    return line.substr(0, word.size()) == word && (line.size() == word.size() || line[word.size()] == ' ');
  };
  for (int number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line(withoutComment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty())
      continue;
    bool expectation = startsWith(line, "makespan") || startsWith(line, "error");
    if (startsWith(line, "case"))
      cases.push_back({line, path, number, {}, ""});
    else if (!cases.empty() && isRankLine(line) && cases.back().expected.empty())
      cases.back().lists.push_back(line);
    else if (!cases.empty() && expectation && cases.back().expected.empty())
      cases.back().expected = line;
    else
      return Failure{"cannot read the cases", path + ":" + std::to_string(number),
                     "\"" + line.substr(0, 40) + "\" belongs to no case",
                     "\"case NAME p=P m=M\", then lines of ranks, then the numbers or the error expected"};
  }
  return cases;
}

} // namespace tessera::schedule
