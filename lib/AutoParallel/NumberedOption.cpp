//===- NumberedOption.cpp - An option by the numbers of its shardings -----===//
#include "NumberedOption.h"

using namespace tessera;

NumberedOption::NumberedOption(const PlacementDecision &option, ReshardCosts &costs,
                               const PlacementDecision *given)
    : factorAxes(option.factorAxes.begin(), option.factorAxes.end()), workTime(option.workTime),
      given(given) {
  for (const Sharding &sharding : option.operands)
    operands.push_back(costs.numberOf(sharding));
  for (const Sharding &sharding : option.results)
    results.push_back(costs.numberOf(sharding));
}

PlacementDecision NumberedOption::decision(const ReshardCosts &costs) const {
  if (given)
    return *given;
  PlacementDecision made;
  made.factorAxes.assign(factorAxes.begin(), factorAxes.end());
  for (int number : operands)
    made.operands.push_back(costs.sharding(number));
  for (int number : results)
    made.results.push_back(costs.sharding(number));
  made.workTime = workTime;
  return made;
}
