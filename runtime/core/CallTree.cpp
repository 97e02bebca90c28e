#include "tessera/runtime/core/CallTree.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Manifest.h"

namespace tessera::runtime {

const char *callKindName(CallKind kind) {
  switch (kind) {
  case CallKind::Loop:
    return "loop";
  case CallKind::Launch:
    return "launch";
  case CallKind::Matmul:
    return "matmul";
  case CallKind::GatherPacked:
    return "gather_packed";
  case CallKind::Pack:
    return "pack";
  case CallKind::Collective:
    return "collective";
  case CallKind::Start:
    return "start";
  case CallKind::Wait:
    return "wait";
  case CallKind::Send:
    return "send";
  case CallKind::Receive:
    return "receive";
  case CallKind::Copy:
    return "copy";
  case CallKind::ReadFlag:
    return "read_flag";
  }
  return "";
}

std::string CallSpec::operation(const Manifest &manifest) const {
  if (kind == CallKind::Launch)
    return kernel;
  if (kind == CallKind::Collective || kind == CallKind::Start)
    return collectiveName(manifest.collectives.at(size_t(id)).kind);
  return callKindName(kind);
}

CallCursor::CallCursor(const std::vector<CallSpec> &calls, const std::vector<int64_t> &counts,
                       int64_t firstLayer)
    : counts_(counts), firstLayer_(firstLayer), frames_{{&calls, 0, 0, 1, 1}} {}

void CallCursor::tellFlag(bool flag) {
  auto number = size_t(last_->id);
  if (flags_.size() <= number)
    flags_.resize(number + 1);
  flags_[number] = flag;
}

// Out of loops that have ended, into those that come next.
void CallCursor::settle() {
  for (;;) {
    Frame &frame = frames_.back();
    if (frame.at == frame.calls->size()) {
      if (frames_.size() == 1)
        return;
      frame.index += frame.step;
      frame.at = 0;
      if (frame.index < frame.count)
        continue;
      frames_.pop_back();
      ++frames_.back().at;
      continue;
    }
    const CallSpec &next = (*frame.calls)[frame.at];
    if (next.kind != CallKind::Loop)
      return;
    int64_t count = next.countNumber < 0 ? next.count : counts_.at(size_t(next.countNumber));
    const size_t flag = size_t(next.flagNumber);
    const bool isSaid = next.flagNumber >= 0 && flag < flags_.size(); // not where what reads it did not run
    const bool runs = next.flagNumber < 0 || (isSaid && flags_[flag] == next.ifFlag);
    if (runs && count > 0 && !next.calls.empty())
      frames_.push_back({&next.calls, 0, 0, count, next.step});
    else
      ++frame.at;
  }
}

const CallSpec &CallCursor::next(CallKind kind) {
  settle();
  Frame &frame = frames_.back();
  if (frame.at == frame.calls->size() || (*frame.calls)[frame.at].kind != kind)
    throw Error("cannot follow the program's calls", std::string("a ") + callKindName(kind),
                "the manifest names another call here",
                "compile the program again with this version of llm-compile");
  last_ = &(*frame.calls)[frame.at];
  indices_.clear();
  for (size_t i = 1; i < frames_.size(); ++i)
    if ((*frames_[i - 1].calls)[frames_[i - 1].at].flagNumber < 0) // a branch is no loop of the program
      indices_.push_back(frames_[i].index);
  ++frame.at;
  return *last_;
}

std::string CallCursor::place() const {
  std::string text;
  size_t loop = indices_.size();
  for (const CallSpec::Iteration &one : last_->at) {
    int64_t number = one.offset + (one.loop == "layer" ? firstLayer_ : 0);
    if (one.scale != 0 && loop > 0)
      number += one.scale * indices_[--loop];
    text += (text.empty() ? "" : ", ") + one.loop + " " + std::to_string(number);
  }
  return text;
}

} // namespace tessera::runtime
