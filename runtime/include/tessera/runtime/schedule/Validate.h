// Can a schedule run? The check that every list passes before anything runs it, whoever made it.
#ifndef TESSERA_RUNTIME_SCHEDULE_VALIDATE_H
#define TESSERA_RUNTIME_SCHEDULE_VALIDATE_H

#include "tessera/runtime/schedule/Simulate.h"

namespace tessera::schedule {

// What is wrong, and at which actions.
struct Problem {
  std::vector<Place> places;
  std::string why; // one line that names rank, action and reason: "r1 at 1B0: its forward 1F0 comes later"
};

// Looks for, in this order: actions of stages or micro-batches that there are not, on another rank than their
// stage's, twice, before what they need on their rank; what is missing (each stage has of each micro-batch
// one F and either a B or an I with its W; if there are sends or receives at all, each value that crosses
// ranks has one of both; likewise Unshard, and ReduceGradients once a stage); and lists that cannot go on,
// with the buffers that `transport` has. Nothing if the schedule can run. Time grows with the actions times
// the ranks.
std::optional<Problem> validate(const Schedule &schedule, const Transport &transport = {});

// Between any two ranks receives stand in the order of the sends: what a transport without names of messages
// needs. For schedules that are valid otherwise.
std::optional<Problem> checkFirstInFirstOut(const Schedule &schedule);

// The lists around a problem: a line a rank, columns are places in the lists, and `<-- here` behind each
// action that is named.
std::string grid(const Schedule &schedule, const Problem &problem);

} // namespace tessera::schedule
#endif
