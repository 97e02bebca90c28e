#include "StepTrace.h"

#include "tessera/runtime/schedule/Text.h"

#include <chrono>

namespace tessera::runtime {

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void StepTrace::beginStep(int64_t step) {
  step_ = step;
  stepBegin_ = now();
}

void StepTrace::endStep() {
  TraceSlice slice;
  slice.step = step_;
  slice.begin = stepBegin_;
  slice.end = now();
  add(slice);
}

//===- Calls of entries -===//

void StepTrace::entered(const Manifest &manifest, const EntrySpec &entry, const CalledPart &part) {
  manifest_ = &manifest;
  part_ = part.name;
  partBegin_ = now();
  cursor_.emplace(entry.calls, counts_, part.firstLayer);
}

// An action is a part itself, with what it copies and waits for.
void StepTrace::left() {
  if (!part_.empty() && !inAction_)
    add({TraceRow::Part, CallKind::Loop, nullptr, nullptr, placeNumber(part_), step_, partBegin_, now()});
}

void StepTrace::begin(const ObservedCall &) { callBegin_ = now(); }

void StepTrace::end(const ObservedCall &call) {
  const int64_t end = now();
  const CallSpec &spec = cursor_->next(call.kind);
  if (call.kind == CallKind::ReadFlag)
    cursor_->tellFlag(call.flag != 0);
  const std::string place = cursor_->place();
  const uint32_t number = placeNumber(part_ + (part_.empty() || place.empty() ? "" : ", ") + place);
  TraceSlice slice{TraceRow::Compute, call.kind, &spec, manifest_, number, step_, callBegin_, end};
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
  case CallKind::ReadFlag:
    slice.row = TraceRow::Wait;
    break;
  case CallKind::Wait: {
    slice.row = TraceRow::Wait;
    TraceSlice over;
    if (addBegun(call.token, end, over)) {
      slice.call = over.call; // what is waited for has the name
      slice.place = over.place;
    }
    break;
  }
  default:
    break;
  }
  add(slice);
}

bool StepTrace::addBegun(CommToken token, int64_t end, TraceSlice &over) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = begun_.find(token);
    if (found == begun_.end())
      return false;
    over = found->second.slice;
    over.end = found->second.end ? found->second.end : end;
    begun_.erase(found);
  }
  add(over);
  return true;
}

void StepTrace::ended(CommToken token) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = begun_.find(token); found != begun_.end())
    found->second.end = now();
}

//===- The list of a pipeline -===//

void StepTrace::begins(const schedule::Action &) { actionBegin_ = now(); }

// What came before it was waiting for messages.
void StepTrace::computes(const schedule::Action &action) {
  const int64_t there = now();
  add({TraceRow::Wait, CallKind::Wait, nullptr, nullptr, placeNumber(schedule::toString(action)), step_,
       actionBegin_, there});
  actionBegin_ = there;
  inAction_ = true;
}

void StepTrace::ends(const schedule::Action &action) {
  inAction_ = false;
  // A send copies, and waits for a buffer that is free.
  const bool isPart = schedule::computes(action.kind) || schedule::ofWholeStage(action.kind);
  add({isPart ? TraceRow::Part : TraceRow::Wait, CallKind::Send, nullptr, nullptr,
       placeNumber(schedule::toString(action)), step_, actionBegin_, now()});
}

void StepTrace::travels(const schedule::Action &message, CommToken token) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t begin = now();
  begun_[token] = {{TraceRow::Message, CallKind::Send, nullptr, nullptr,
                    placeNumber(schedule::toString(message)), step_, begin, begin}};
}

void StepTrace::arrived(CommToken token) {
  TraceSlice over;
  addBegun(token, now(), over);
}

uint32_t StepTrace::placeNumber(const std::string &place) {
  auto [found, isNew] = placeNumbers_.try_emplace(place, uint32_t(places_.size()));
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
