//===- Order.h - What streams and events order ------------------*- C++ -*-===//
//
// Plain data, no IR. The host gives the work of a program to streams in the order of the program; a stream
// runs its own in that order, and waits for another one by an event. `checkOrder` proves that this is enough;
// `planEvents` finds where events are needed. Both follow what each stream knows to be done before (vector
// clocks), through two rounds of every loop: what a round orders with the next one it orders with all that
// follow. Cost: two visits of every op for each loop around it, times the logarithm of the ranges.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_ORDER_ORDER_H
#define TESSERA_ANALYSIS_ORDER_ORDER_H

#include "tessera/Analysis/Arena/ArenaProgram.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct OrderViolation {
  int tag = -1;         ///< the item
  int access = -1;      ///< of its op; -1: the item itself
  int other = -1;       ///< the item that it is not ordered with, if any
  int otherAccess = -1; ///< of that op
  std::string what;     ///< a predicate about the access: "writes bytes [64, 128), ..."
};

/// Finds the first item, in the order of the program, that is wrong on `streams` streams:
///  - two accesses to the same bytes, one of them a write, on streams that no event orders. What rounds of
///    a loop do to layers of a stack is told apart by their numbers; layers that meet more than one round
///    apart must be ordered from one round to the next;
///  - two ops that communicate and could begin in another order on another rank;
///  - a wait for an event that nothing has recorded in the same call;
///  - a stream that begins before stream 0 of the call;
///  - a stream for whose last thing, be it a wait, stream 0 does not wait: entries follow each other on
///    stream 0.
/// Work in flight is a stream of its own from its start to its wait.
std::optional<OrderViolation> checkOrder(const ArenaProgram &program, int streams);

/// Where events are recorded and waited for.
struct EventPlan {
  struct Action {
    bool records; ///< or waits
    int tag;      ///< the item beside which it stands; -1: the whole entry
    bool after;   ///< after the item (at the end of the entry), or before it (at the beginning)
    int stream;
    int event;
  };
  std::vector<Action> actions; ///< those beside one item in their order
  int events = 0;              ///< numbers used: 0 to events - 1
};

/// Events that make a program pass `checkOrder`, wherever events can; those that it has already stay and
/// count. A stream waits as late as it may, for as little as it must, and not for what it knows already.
/// Numbers are used again.
EventPlan planEvents(const ArenaProgram &program, int streams);

} // namespace tessera
#endif
