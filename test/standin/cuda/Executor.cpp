// Runs the units of contexts, each on a thread of its own: late, and in an order drawn from a seed among
// those that streams, events and graphs allow.
#include "Call.h"

#include <algorithm>

namespace standin {

using Time = std::chrono::steady_clock;
// The host may give work for so long before any of it runs.
static constexpr std::chrono::milliseconds patience{2};
static constexpr std::chrono::microseconds shortPause{20}, longPause{500};
static constexpr uint64_t bursts[] = {1, 1, 1, 1, 2, 2, 4, 16};

Machine &Machine::get() {
  static Machine *machine = new Machine;
  return *machine;
}

Machine::Machine() = default;

ContextRef Machine::createContext(int device) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->lane = addLane();
  context->seed = randomBits(settings().seed, 0, uint64_t(device));
  context->eager = context->seed % 4 == 0;
  context->burst = bursts[context->seed / 4 % 8];
  context->most = uint64_t(16) << (context->seed / 32 % 7); // 16 to 1024 units
  context->thread = std::thread([this, raw = context.get()] { loop(*raw); });
  return context;
}

void Machine::stop(Context &context, std::unique_lock<std::mutex> &lock) {
  context.stop = true;
  context.work.notify_all();
  context.hostWork.notify_all();
  lock.unlock();
  context.thread.join();
  if (context.hostThread.joinable())
    context.hostThread.join();
  lock.lock();
  for (auto at = pending_.begin(); at != pending_.end();)
    at = at->first->context == &context ? pending_.erase(at) : std::next(at);
  context.ready.clear();
  context.last = nullptr;
  context.orphans.clear();
}

void Machine::rest(std::unique_lock<std::mutex> &lock) {
  auto atRest = [&] {
    for (auto &[device, context] : primary)
      if (context->working)
        return false;
    return true;
  };
  for (auto &[device, context] : primary) {
    context->stop = true;
    context->work.notify_all();
  }
  progress_.wait_for(lock, std::chrono::seconds(2), atRest);
}

UnitRef Machine::submit(Context &context, int64_t lane, uint64_t &given, OperationRef operation,
                        const std::vector<UnitRef> &after) {
  auto unit = std::make_shared<Unit>();
  unit->operation = std::move(operation);
  unit->context = &context;
  unit->key = randomBits(context.seed, uint64_t(lane) + 1, given++ / context.burst);
  unit->place = nextPlace(lane, after);
  if (unit->operation) {
    noteUses(*unit);
    unit->reports = unit->operation->kind == "kernel" && settings().order;
    if (!unit->operation->touched.empty())
      check(*unit, unit->operation->touched);
    if (unit->operation->start)
      unit->run = unit->operation->start();
  }
  for (const UnitRef &before : after)
    if (!before->done) {
      ++unit->missing;
      before->followers.push_back(unit);
    }
  pending_[unit.get()] = unit;
  ++context.pending;
  context.lastGiven = Time::now();
  if (unit->missing == 0) {
    context.ready.push_back(unit);
    context.work.notify_one();
  }
  return unit;
}

CUresult Machine::waitFor(std::unique_lock<std::mutex> &lock, const UnitRef &unit) {
  ++waiting_;
  for (auto &[device, context] : primary)
    context->work.notify_one();
  progress_.wait(lock, [&] { return unit->done; });
  --waiting_;
  if (unit->context->fault)
    return unit->context->fault;
  hostKnows(*unit);
  return CUDA_SUCCESS;
}

CUresult Machine::drain(std::unique_lock<std::mutex> &lock, Context &context) {
  std::vector<UnitRef> left;
  for (const auto &[unit, reference] : pending_)
    if (unit->context == &context)
      left.push_back(reference);
  for (const UnitRef &unit : left)
    if (CUresult result = waitFor(lock, unit))
      return result;
  // What ran before comes before the host as well.
  auto know = [&](const UnitRef &unit) {
    if (unit && unit->done) // other threads may go on giving work
      hostKnows(*unit);
  };
  for (const auto &[number, stream] : streams.live())
    if (stream->context.get() == &context)
      know(stream->last);
  know(context.last);
  for (const UnitRef &unit : context.orphans)
    know(unit);
  auto done = [](const UnitRef &unit) { return unit->done; };
  context.orphans.erase(std::remove_if(context.orphans.begin(), context.orphans.end(), done),
                        context.orphans.end());
  return context.fault;
}

UnitRef Machine::pendingUser(uint64_t allocation) const {
  for (const auto &[unit, reference] : pending_)
    if (unit->operation)
      for (const AllocationRef &used : unit->operation->uses)
        if (used->id == allocation)
          return reference;
  return nullptr;
}

bool Machine::pendingAccess(uintptr_t begin, uintptr_t end, bool reads) const {
  for (const auto &[unit, reference] : pending_)
    if (unit->operation)
      for (const TouchedBytes &bytes : unit->operation->touched)
        if (bytes.begin < end && begin < bytes.end && (reads || bytes.writes))
          return true;
  return false;
}

bool Machine::pendingKind(const char *kind) const {
  for (const auto &[unit, reference] : pending_)
    if (unit->operation && unit->operation->kind == kind)
      return true;
  return false;
}

void Machine::runHostFunction(Context &context, std::function<void()> function,
                              const std::shared_ptr<std::atomic<bool>> &done) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!context.hostThread.joinable())
    context.hostThread = std::thread([this, &context] { hostLoop(context); });
  context.hostFunctions.push_back([function = std::move(function), done] {
    function();
    *done = true;
  });
  context.hostWork.notify_one();
}

void Machine::hostLoop(Context &context) {
  insideHostFunction() = true;
  std::unique_lock<std::mutex> lock(mutex);
  while (!context.stop) {
    if (context.hostFunctions.empty()) {
      context.hostWork.wait(lock);
      continue;
    }
    auto function = std::move(context.hostFunctions.front());
    context.hostFunctions.pop_front();
    lock.unlock();
    function();
    lock.lock();
    context.work.notify_one();
  }
}

void Machine::fault(Context &context, CUresult code) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!context.fault)
    context.fault = code;
}

void Machine::loop(Context &context) {
  std::unique_lock<std::mutex> lock(mutex);
  auto pause = shortPause;
  context.working = true;
  while (!context.stop) {
    if (context.ready.empty()) {
      context.work.wait(lock);
      continue;
    }
    Time::time_point begin = context.lastGiven + patience;
    if (!context.fault && !context.eager && waiting_ == 0 && context.pending < context.most &&
        Time::now() < begin) {
      context.work.wait_until(lock, begin);
      continue;
    }
    if (step(context, lock)) {
      pause = shortPause;
    } else { // all that is left waits for peers
      context.work.wait_for(lock, pause);
      pause = std::min(pause * 2, longPause);
    }
  }
  context.working = false;
  progress_.notify_all();
}

bool Machine::step(Context &context, std::unique_lock<std::mutex> &lock) {
  std::vector<UnitRef> ready = context.ready;
  std::sort(ready.begin(), ready.end(), [](const UnitRef &a, const UnitRef &b) { return a->key > b->key; });
  for (const UnitRef &unit : ready) {
    Progress result = Progress::Done;
    if (unit->run && !context.fault) {
      unit->started = true;
      lock.unlock();
      result = unit->run(*unit);
      lock.lock();
    }
    if (result == Progress::Later && !context.fault) {
      if (context.stop)
        return true;
      continue;
    }
    context.ready.erase(std::find(context.ready.begin(), context.ready.end(), unit));
    // What a library gave is released without the lock.
    OperationRef operation = std::move(unit->operation);
    Run run = std::move(unit->run);
    finish(*unit);
    lock.unlock();
    operation = nullptr;
    run = nullptr;
    lock.lock();
    return true;
  }
  return false;
}

void Machine::finish(Unit &unit) {
  unit.done = true;
  unit.doneAt = Time::now();
  --unit.context->pending;
  for (const UnitRef &follower : unit.followers)
    if (--follower->missing == 0) {
      follower->context->ready.push_back(follower);
      follower->context->work.notify_one();
    }
  unit.followers.clear();
  pending_.erase(&unit); // the caller holds it
  if (waiting_)
    progress_.notify_all();
}

} // namespace standin
