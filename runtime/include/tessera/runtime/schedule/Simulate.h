// Runs a schedule in time: when each action begins and ends, how long ranks idle, how many activations they
// hold; and where it cannot go on. One walk serves the check (all durations 0) and the prediction.
#ifndef TESSERA_RUNTIME_SCHEDULE_SIMULATE_H
#define TESSERA_RUNTIME_SCHEDULE_SIMULATE_H

#include "tessera/runtime/schedule/Schedule.h"

namespace tessera::schedule {

// What actions take, in any one unit. A vector has one number a stage; an empty one, or one of a single
// number, holds for all of them.
struct Costs {
  std::vector<double> forward{1}, backwardInput{1}, backwardWeight{1};
  // Of a pair, by the stage of its forward. Empty: its forward and its backward one after the other.
  std::vector<double> pair;
  // From a send to the message being there, by the lower of the two stages. What stays on its rank takes
  // none.
  std::vector<double> link{0};
  // Of that, in which the message has the wire between the two ranks to itself: another one the same way
  // begins behind it.
  std::vector<double> wire{0};
  // Bytes, or another unit: what a stage keeps for backward from its forward on, how much of it I frees, and
  // what I makes for W, from its beginning on; W frees the rest.
  std::vector<double> hold{1}, freed{0}, made{0};

  static double of(const std::vector<double> &values, int32_t stage, double otherwise = 0) {
    return values.empty() ? otherwise : values.size() == 1 ? values[0] : values[size_t(stage)];
  }
  // Of a computing action, pairs included.
  double duration(const Action &action) const;
};

constexpr int32_t kEndless = -1;

// How messages travel, for schedules that have sends and receives.
struct Transport {
  // A receive only posts its buffer, and the action that needs the message waits. Otherwise the receive
  // waits.
  bool postedReceives = true;
  // A send waits until the other rank stands at the receive.
  bool synchronousSends = false;
  // Most sends of a rank whose receive is not done; it waits before the next. kEndless: sends never wait.
  int32_t sendBuffers = kEndless;
};

struct Span {
  double begin = 0, end = 0;
};

struct Simulation {
  double makespan = 0;                  // when the last action ends
  std::vector<double> busy;             // [ranks], time of compute
  std::vector<std::vector<Span>> spans; // [ranks][actions]
  // [ranks][actions] Of sends: when the message has the wire. 0 elsewhere.
  std::vector<std::vector<double>> departures;
  // [ranks] Most sends whose receive is not done, at the times that these costs give.
  std::vector<int32_t> sendsInFlight;
  // Where ranks stand that cannot go on; empty if all lists end. Then nothing but `spans` of what ran is set.
  std::vector<Place> stalled;

  bool ended() const { return stalled.empty(); }
  // The part of all ranks' time in which they idle, 0 to 1.
  double idle() const {
    double sum = 0;
    for (double time : busy)
      sum += time;
    return makespan > 0 ? 1 - sum / (makespan * double(busy.size())) : 0;
  }
};

// Runs the lists. They must have passed the checks of validate (Validate.h) that look at one rank. Time grows
// with the actions times the ranks.
Simulation simulate(const Schedule &schedule, const Costs &costs = {}, const Transport &transport = {});

// What a rank holds, which follows from the order of its list alone.
struct Held {
  int32_t activations = 0; // most (stage, micro-batch) with F begun and B or W not ended
  double bytes = 0;        // the same, weighted by Costs::hold, less what I has freed, with what it makes
  int32_t receives = 0;    // most messages whose receive stands before, and whose reader behind
};
std::vector<Held> heldAtMost(const Schedule &schedule, const Costs &costs = {});

// The fewest send buffers of a rank with which the lists end, and with which they end as soon as with endless
// ones. kEndless for both if they do not end even with those.
struct LeastBuffers {
  int32_t withoutDeadlock = kEndless, withoutDelay = kEndless;
};
LeastBuffers leastSendBuffers(const Schedule &schedule, const Costs &costs = {},
                              const Transport &transport = {});
// LeastBuffers::withoutDelay alone, in fewer simulations where it is near `guess`: that of a cut alike.
int32_t leastSendBuffersWithoutDelay(const Schedule &schedule, const Costs &costs, int32_t guess);

} // namespace tessera::schedule
#endif
