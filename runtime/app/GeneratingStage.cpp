#include "StageSession.h"

#include <algorithm>
#include <exception>

namespace tessera::runtime {

static int64_t valueTag(int64_t group) { return 2 * group; }

GeneratingStage::GeneratingStage(const PipelineRun &run, RankPrograms &programs)
    : run_(run), rank_(*programs[0]),
      number_(int32_t(stages().whole().mesh.index(rank_.id(), stages().axis()))),
      slotBytes_(size_t(rank_.manifest().slotBytes[size_t(Slot::Whole)])),
      traffic_(generatingTraffic(stages(), number_)), delays_(pipelineDelays(stages().stages())) {
  Device &device = rank_.device();
  const std::string what = " of stage " + std::to_string(number_);
  if (const int64_t bytes = bytesOfRank(bytesOfStage(stages(), number_), traffic_).moreSlots)
    slots_ = device.allocate(size_t(bytes), "the groups of rows" + what, MemoryUse::Arena);
  auto stamped = [&](int64_t bytes) { return delays_ ? stampedBytes(size_t(bytes)) : size_t(bytes); };
  if (number_ > 0)
    received_ = device.allocate(stamped(traffic_.received), "what comes to" + what, MemoryUse::Arena);
  if (isLast())
    return;
  sends_.resize(size_t(traffic_.sendBuffers));
  for (SendBuffer &one : sends_)
    one.memory = device.allocate(stamped(traffic_.sent), "what goes out" + what, MemoryUse::Arena);
}

size_t GeneratingStage::bytesOf(int32_t stage, Role role) const {
  const size_t bytes = stages().message(stage, role, true).bytes;
  return delays_ ? stampedBytes(bytes) : bytes;
}

GeneratingStage::~GeneratingStage() {
  if (std::uncaught_exceptions() == 0) { // else the run is about to end, and what has failed is known
    for (SendBuffer &one : sends_)
      if (one.sent)
        rank_.shared().comm().wait(*one.sent, rank_.compute());
    rank_.finish();
  }
}

char *GeneratingStage::slot(int64_t group) const {
  return group == 0 ? rank_.arena() : slots_.address() + size_t(group - 1) * slotBytes_;
}

char *GeneratingStage::state(const StateSpec &spec, int64_t group) const {
  return (spec.offset < rank_.manifest().slotBytes[0] ? slot(group) : rank_.arena()) + spec.offset;
}

const char *GeneratingStage::receive(Role role, int64_t group) {
  Communicator &comm = rank_.shared().comm();
  const Mesh &mesh = stages().whole().mesh;
  const size_t bytes = bytesOf(number_ - 1, role);
  comm.wait(comm.receive(mesh.member(rank_.id(), stages().axis(), number_ - 1), valueTag(group),
                         received_.address(), bytes, rank_.compute(), run_.valueName(number_ - 1, group)),
            rank_.compute());
  if (delays_)
    waitForLink(received_.address(), bytes, schedule::Costs::of(delays_->link, number_ - 1), rank_.compute());
  return received_.address();
}

void GeneratingStage::send(const EntrySpec &entry, int64_t group) {
  Communicator &comm = rank_.shared().comm();
  const Mesh &mesh = stages().whole().mesh;
  const StageMessage message = stages().message(number_, entry.role, true);
  SendBuffer &buffer = sends_[nextSend_++ % sends_.size()];
  if (buffer.sent)
    comm.wait(*buffer.sent, rank_.compute());
  for (const OutputSpec &output : entry.outputs)
    if (const TravellingValue *value = message.find(output.name))
      rank_.compute().copy(buffer.memory.address() + value->offset, rank_.arena() + output.offset,
                           value->bytes);
  const size_t bytes = bytesOf(number_, entry.role);
  if (delays_)
    stampMessage(buffer.memory.address(), bytes, rank_.compute());
  buffer.sent = comm.send(mesh.member(rank_.id(), stages().axis(), number_ + 1), valueTag(group),
                          buffer.memory.address(), bytes, rank_.compute(), run_.valueName(number_, group));
}

} // namespace tessera::runtime
