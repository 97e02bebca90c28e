#include "tessera/runtime/schedule/CostText.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tessera::schedule {

static Failure wrong(std::string why, std::string hint) {
  return {"wrong case", "", std::move(why), std::move(hint)};
}

std::vector<double> *costOf(Costs &costs, const std::string &key) {
  struct Row {
    const char *key;
    std::vector<double> &numbers;
  };
  for (const Row &row :
       {Row{"F", costs.forward}, Row{"I", costs.backwardInput}, Row{"W", costs.backwardWeight},
        Row{"pair", costs.pair}, Row{"link", costs.link}, Row{"wire", costs.wire}, Row{"hold", costs.hold},
        Row{"free", costs.freed}, Row{"made", costs.made}})
    if (key == row.key)
      return &row.numbers;
  return nullptr;
}

Status readCost(const std::string &key, const std::string &value, std::vector<double> &numbers) {
  numbers.clear();
  for (size_t at = 0; at <= value.size();) {
    size_t end = std::min(value.find(',', at), value.size());
    std::string one = value.substr(at, end - at);
    char *behind = nullptr;
    numbers.push_back(std::strtod(one.c_str(), &behind));
    if (one.empty() || *behind || !std::isfinite(numbers.back()) || numbers.back() < 0 ||
        (key == "free" && numbers.back() > 1))
      return wrong(key + "=" + value + ": \"" + one + "\" is no number from 0" +
                       (key == "free" ? " to 1" : " on"),
                   "one number, or one a stage with commas between");
    at = end + 1;
  }
  return {};
}

Status checkCosts(const Costs &costs, int32_t stages) {
  for (const char *key : {"F", "I", "W", "pair", "link", "wire", "hold", "free", "made"}) {
    size_t given = costOf(const_cast<Costs &>(costs), key)->size();
    const bool isOfPairs = std::string(key) == "link" || std::string(key) == "wire";
    int32_t count = isOfPairs ? stages - 1 : stages;
    if (given > 1 && given != size_t(count))
      return wrong(std::string(key) + " has " + std::to_string(given) + " numbers",
                   "one, or " + std::to_string(count));
  }
  return {};
}

Result<Costs> parseCosts(const std::string &text, const std::string &path) {
  Costs costs;
  for (const char *key : {"F", "I", "W", "link"})
    *costOf(costs, key) = {0};
  std::vector<std::string> seen;
  auto fail = [&](std::string why, std::string hint) {
    return Failure{"cannot read durations", path, std::move(why), std::move(hint)};
  };
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t end = std::min(text.find_first_of(" \t\r\n#", at), text.size());
    std::string word = text.substr(at, end - at);
    at = end;
    size_t equals = word.find('=');
    std::string key = word.substr(0, equals);
    std::vector<double> *numbers = equals == word.npos ? nullptr : costOf(costs, key);
    if (!numbers || key == "wire" || key == "hold" || key == "free" || key == "made")
      return fail("\"" + word + "\" is no duration", "F=4,5 I=4 W=4 pair=8 link=2, in milliseconds");
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return fail(key + " is given twice", "give it once");
    seen.push_back(key);
    if (Status status = readCost(key, word.substr(equals + 1), *numbers); !status)
      return fail(status.failure().why, status.failure().hint);
  }
  return costs;
}

} // namespace tessera::schedule
