// Warp operations: lanes meet by the mask of those that take part.
#include "Functions.h"
#include "Numbers.h"
#include "Races.h"

namespace standin {

// Why lanes cannot meet. Apart, so that the way on which they can is short.
[[noreturn]] __attribute__((noinline, cold)) static void cannotMeet(Thread &thread, uint32_t mask, WarpOp op,
                                                                    uint32_t site, const Meeting *found) {
  Block &block = *thread.owner();
  Warp &warp = block.warps[thread.warp];
  std::string where = " (" + whereIs(thread) + "): ", here = textOf(block, site), text;
  if (!(mask >> thread.lane & 1)) {
    text = "a lane is not in the mask of its warp operation" + where + "lane " + std::to_string(thread.lane) +
           " at " + here;
  } else if (mask & warp.done) {
    text = "a warp operation waits for a lane that has ended" + where + "lane " +
           std::to_string(__builtin_ctz(mask & warp.done)) + " is in the mask at " + here;
  } else {
    const char *what = found->mask != mask ? "lanes of a warp wait for each other with different masks"
                                           : "lanes of a warp meet in different operations";
    text = what + where + here + ", others at " + textOf(block, found->site);
  }
  fail(thread, Finding::Kind::Synchronization, text);
}

bool meet(Thread &thread, uint32_t mask, WarpOp op, bool aligned, uint32_t site, void *operands) {
  Warp &warp = thread.owner()->warps[thread.warp];
  uint32_t own = 1u << thread.lane;
  thread.operands = operands;
  mask &= warp.exists; // the last warp of a block may have fewer lanes
  if (!(mask & own) || mask & warp.done)
    cannotMeet(thread, mask, op, site, nullptr);
  Meeting *found = nullptr;
  for (Meeting *at = warp.meeting, *end = at + warp.meetings; at != end && !found; ++at)
    if (at->mask == mask && !(at->arrived & own))
      found = at;
  if (found) {
    if (found->op != op || (aligned && found->site != site))
      cannotMeet(thread, mask, op, site, found);
    found->arrived |= own;
    if (found->arrived == mask) {
      *found = warp.meeting[--warp.meetings];
      return true;
    }
  } else {
    if (mask == own)
      return true;
    for (uint32_t i = 0; i < warp.meetings; ++i)
      if (warp.meeting[i].arrived & mask)
        cannotMeet(thread, mask, op, site, &warp.meeting[i]);
    warp.meeting[warp.meetings++] = {mask, own, site, op};
  }
  thread.wait = Wait::Warp;
  thread.site = site;
  suspend(thread);
  return false;
}

void release(Thread &thread, uint32_t mask) {
  Warp &warp = thread.owner()->warps[thread.warp];
  wakeLanes(*thread.owner(), warp, mask & warp.exists & ~(1u << thread.lane));
}

namespace {
template <typename Operands, typename Visit> void forLanes(Thread &thread, uint32_t mask, Visit visit) {
  Block &block = *thread.owner();
  Warp &warp = block.warps[thread.warp];
  Thread *lanes = &block.lane(warp, 0);
  for (uint32_t left = mask & warp.exists; left; left &= left - 1) {
    uint32_t lane = __builtin_ctz(left);
    visit(lane, *static_cast<Operands *>(lanes[lane].operands));
  }
}

struct Shuffle {
  uint32_t value, lane, clamp, kind, result, valid;
};
struct Vote {
  uint32_t predicate, result;
};
struct Match {
  uint64_t value;
  uint32_t mask, same;
};
struct Reduction {
  uint32_t value, result;
};

// What is read from a lane that does not exist: a NaN, far outside every array.
constexpr uint32_t kPoison = 0x7ff77ff7;

uint32_t reduceTwo(uint32_t a, uint32_t b, uint32_t kind) {
  switch (kind) {
  case kReduceAdd:
    return a + b;
  case kReduceMin:
    return int32_t(a) < int32_t(b) ? a : b;
  case kReduceMax:
    return int32_t(a) > int32_t(b) ? a : b;
  case kReduceUnsignedMin:
    return a < b ? a : b;
  case kReduceUnsignedMax:
    return a > b ? a : b;
  case kReduceAnd:
    return a & b;
  case kReduceOr:
    return a | b;
  case kReduceXor:
    return a ^ b;
  }
  return 0;
}

__attribute__((noinline)) void shuffleLanes(Thread *thread, uint32_t mask, uint32_t site) {
  Block &block = *thread->owner();
  Warp &warp = block.warps[thread->warp];
  uint32_t outside = 0, foreign = 0;
  forLanes<Shuffle>(*thread, mask, [&](uint32_t at, Shuffle &s) {
    // As the PTX manual writes it: segments of the warp, and the last lane of a segment that may be read.
    uint32_t segment = s.clamp >> 8 & 31, last = (at & segment) | (s.clamp & 31 & ~segment),
             first = at & segment;
    int32_t from = 0, step = s.lane & 31;
    bool valid = true;
    switch (s.kind) {
    case kShuffleUp:
      from = int32_t(at) - step;
      valid = from >= int32_t(last);
      break;
    case kShuffleDown:
      from = at + step;
      valid = from <= int32_t(last);
      break;
    case kShuffleButterfly:
      from = at ^ step;
      valid = from <= int32_t(last);
      break;
    default:
      from = first | (step & ~segment);
      valid = from <= int32_t(last);
    }
    if (!valid)
      from = at;
    s.valid = valid;
    if (!(warp.exists >> from & 1)) {
      s.result = kPoison;
    } else if (!(mask >> from & 1)) {
      outside = at + 1;
      foreign = from;
    } else {
      s.result = static_cast<Shuffle *>(block.lane(warp, from).operands)->value;
    }
  });
  if (outside)
    fail(*thread, Finding::Kind::Synchronization,
         "a shuffle reads a lane that takes no part in it (" + whereIs(block.lane(warp, outside - 1)) +
             "): lane " + std::to_string(foreign) + " is not in the mask at " + textOf(block, site));
}
} // namespace

extern "C" {
void standin_warp_sync(Thread *thread, uint32_t mask, uint32_t site) {
  if (!meet(*thread, mask, WarpOp::Sync, false, site, nullptr))
    return;
  if (thread->owner()->races)
    thread->owner()->races->warpSync(*thread, mask);
  release(*thread, mask);
}

uint64_t standin_shuffle(Thread *thread, uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp,
                         uint32_t kind, uint32_t site) {
  Shuffle own = {value, lane, clamp, kind, 0, 0};
  if (meet(*thread, mask, WarpOp::Shuffle, false, site, &own)) {
    shuffleLanes(thread, mask, site);
    release(*thread, mask);
  }
  return own.result | uint64_t(own.valid) << 32;
}

uint32_t standin_vote(Thread *thread, uint32_t mask, uint32_t predicate, uint32_t kind, uint32_t site) {
  Vote own = {predicate & 1, 0};
  if (meet(*thread, mask, WarpOp::Vote, false, site, &own)) {
    uint32_t ballot = 0, all = mask & thread->owner()->warps[thread->warp].exists;
    forLanes<Vote>(*thread, mask, [&](uint32_t at, Vote &vote) { ballot |= vote.predicate << at; });
    uint32_t result = kind == kVoteAll       ? ballot == all
                      : kind == kVoteAny     ? ballot != 0
                      : kind == kVoteUniform ? ballot == all || ballot == 0
                                             : ballot;
    forLanes<Vote>(*thread, mask, [&](uint32_t, Vote &vote) { vote.result = result; });
    release(*thread, mask);
  }
  return own.result;
}

uint64_t standin_match(Thread *thread, uint32_t mask, uint64_t value, uint32_t all, uint32_t site) {
  Match own = {value, 0, 0};
  if (meet(*thread, mask, WarpOp::Match, false, site, &own)) {
    uint32_t members = mask & thread->owner()->warps[thread->warp].exists;
    forLanes<Match>(*thread, mask, [&](uint32_t, Match &one) {
      uint32_t equal = 0;
      forLanes<Match>(*thread, mask,
                      [&](uint32_t at, Match &other) { equal |= uint32_t(other.value == one.value) << at; });
      one.same = equal == members;
      one.mask = all ? (one.same ? members : 0) : equal;
    });
    release(*thread, mask);
  }
  return own.mask | uint64_t(own.same) << 32;
}

uint32_t standin_reduce(Thread *thread, uint32_t mask, uint32_t value, uint32_t kind, uint32_t site) {
  Reduction own = {value, 0};
  if (meet(*thread, mask, WarpOp::Reduce, false, site, &own)) {
    bool first = true;
    uint32_t result = 0;
    forLanes<Reduction>(*thread, mask, [&](uint32_t, Reduction &one) {
      result = first ? one.value : reduceTwo(result, one.value, kind);
      first = false;
    });
    forLanes<Reduction>(*thread, mask, [&](uint32_t, Reduction &one) { one.result = result; });
    release(*thread, mask);
  }
  return own.result;
}

uint64_t standin_elect(Thread *thread, uint32_t mask, uint32_t site) {
  if (meet(*thread, mask, WarpOp::Elect, false, site, nullptr))
    release(*thread, mask);
  uint32_t leader = __builtin_ctz(mask);
  return leader | uint64_t(leader == thread->lane) << 32;
}
}

} // namespace standin
