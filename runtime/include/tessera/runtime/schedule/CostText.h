// Durations and bytes of a schedule as text: `F=4,5,6,7 I=4 W=4 link=2`, one number or one a stage (link: one
// for each two neighbours).
#ifndef TESSERA_RUNTIME_SCHEDULE_COSTTEXT_H
#define TESSERA_RUNTIME_SCHEDULE_COSTTEXT_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <string>

namespace tessera::schedule {

// The numbers that `key` names: F, I, W, pair, link, hold, free or made; null: none.
std::vector<double> *costOf(Costs &costs, const std::string &key);
// Reads `VALUE` of `KEY=VALUE` into it. Numbers are finite and from 0 on; free from 0 to 1.
Status readCost(const std::string &key, const std::string &value, std::vector<double> &numbers);
// Whether there are as many numbers as the schedule has stages.
Status checkCosts(const Costs &costs, int32_t stages);
// All of a text: words with blanks and line ends between, `#` comments to the end of the line. What it does
// not name is 0.
Result<Costs> parseCosts(const std::string &text, const std::string &path);

} // namespace tessera::schedule
#endif
