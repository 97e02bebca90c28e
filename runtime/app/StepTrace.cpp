#include "StepTrace.h"

#include <chrono>

namespace tessera::runtime {

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void StepTrace::beginStep(int64_t step) {
  cursor_.emplace(entry_.calls, counts_);
  step_ = step;
  stepBegin_ = now();
}

void StepTrace::endStep() { add({TraceRow::Step, CallKind::Loop, nullptr, 0, step_, stepBegin_, now()}); }

void StepTrace::begin(const ObservedCall &) { callBegin_ = now(); }

void StepTrace::end(const ObservedCall &call) {
  const int64_t end = now();
  const CallSpec &spec = cursor_->next(call.kind);
  TraceSlice slice{TraceRow::Compute, call.kind, &spec, placeNumber(), step_, callBegin_, end};
  switch (call.kind) {
  case CallKind::Collective: // nothing else goes on meanwhile
    slice.row = TraceRow::Collective;
    add(slice);
    slice.row = TraceRow::Wait;
    break;
  case CallKind::Start:
  case CallKind::Send:
  case CallKind::Receive: {
    std::lock_guard<std::mutex> lock(mutex_);
    TraceSlice going = slice;
    going.row = TraceRow::Collective;
    begun_[call.token] = {going};
    slice.row = TraceRow::Wait; // for it to begin
    break;
  }
  case CallKind::Wait: {
    slice.row = TraceRow::Wait;
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = begun_.find(call.token); found != begun_.end()) {
      TraceSlice over = found->second.slice;
      over.end = found->second.end ? found->second.end : end;
      begun_.erase(found);
      slice.call = over.call; // what is waited for has the name
      slice.place = over.place;
      add(over);
    }
    break;
  }
  default:
    break;
  }
  add(slice);
}

void StepTrace::ended(CommToken token) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = begun_.find(token); found != begun_.end())
    found->second.end = now();
}

uint32_t StepTrace::placeNumber() {
  auto [found, isNew] = placeNumbers_.try_emplace(cursor_->place(), uint32_t(places_.size()));
  if (isNew)
    places_.push_back(found->first);
  return found->second;
}

void StepTrace::add(const TraceSlice &slice) {
  full_ |= slices_.size() == kMostSlices;
  if (!full_)
    slices_.push_back(slice);
}

} // namespace tessera::runtime
