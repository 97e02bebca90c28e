// planEvents makes random programs pass, and nothing that it plans can go.
#include "AllOrders.h"

#include "tessera/Analysis/Order/Order.h"

#include <gtest/gtest.h>

#include <iostream>

using namespace tessera;
using namespace tessera::test;

static void place(std::vector<ArenaItem> &items, const EventPlan &plan, int parent, int &tag, int skip) {
  std::vector<ArenaItem> made;
  auto add = [&](int beside, bool after) {
    for (size_t i = 0; i < plan.actions.size(); ++i) {
      const EventPlan::Action &action = plan.actions[i];
      if (action.tag != beside || action.after != after || int(i) == skip)
        continue;
      made.emplace_back();
      made.back().tag = tag++;
      made.back().op.stream = action.stream;
      (action.records ? made.back().op.records : made.back().op.awaits) = action.event;
    }
  };
  if (parent < 0)
    add(-1, false);
  for (ArenaItem &item : items) {
    int number = item.tag;
    add(number, false);
    if (item.loop)
      place(item.loop->body, plan, number, tag, skip);
    made.push_back(std::move(item));
    add(number, true);
  }
  if (parent < 0)
    add(-1, true);
  items = std::move(made);
}

/// `skip`: an action that is left out.
static ArenaProgram withEvents(ArenaProgram program, const EventPlan &plan, int skip = -1) {
  int tag = 1000;
  place(program.items, plan, -1, tag, skip);
  return program;
}

static void tryPrograms(RandomOrderOptions options, int programs, unsigned seed, int mostInVain) {
  options.events = false;
  int waits = 0, inVain = 0, events = 0;
  for (int i = 0; i < programs; ++i) {
    // Drawn again for every change: programs own their loops and can't be copied.
    auto draw = [&] {
      std::mt19937 random(seed + unsigned(i));
      return randomOrderProgram(random, options);
    };
    EventPlan plan = planEvents(draw(), options.streams);
    ArenaProgram program = withEvents(draw(), plan);
    if (auto violation = checkOrder(program, options.streams)) {
      // What is touched while it is in flight no event can order.
      if (options.flights && violation->what.find("come after the wait for it") != std::string::npos)
        continue;
      FAIL() << violation->tag << " " << violation->what << "\n" << printProgram(program);
    }
    ASSERT_EQ(whatCanGoWrong(program, options.streams), "") << printProgram(program);
    events = std::max(events, plan.events);
    for (size_t action = 0; action < plan.actions.size(); ++action) {
      if (plan.actions[action].records)
        continue;
      ++waits;
      ArenaProgram less = withEvents(draw(), plan, int(action));
      bool passes = !checkOrder(less, options.streams);
      inVain += passes;
      if (passes) {
        EXPECT_EQ(whatCanGoWrong(less, options.streams), "");
      }
    }
  }
  std::cout << programs << " programs, " << waits << " waits, " << inVain << " of them could go; at most "
            << events << " events\n";
  EXPECT_LE(inVain, mostInVain);
}

TEST(PlanEvents, StraightPrograms) { tryPrograms({}, 3000, 1, 0); }

TEST(PlanEvents, ThreeStreams) {
  RandomOrderOptions options;
  options.streams = 3;
  options.communicates = true;
  tryPrograms(options, 3000, 2, 0);
}

TEST(PlanEvents, Loops) {
  RandomOrderOptions options;
  options.loops = options.layers = options.communicates = true;
  tryPrograms(options, 3000, 3, 100);
}

TEST(PlanEvents, WorkInFlight) {
  RandomOrderOptions options;
  options.flights = options.loops = true;
  tryPrograms(options, 3000, 4, 100);
}
