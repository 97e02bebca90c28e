#include "StageSession.h"
#include "Buffers.h"
#include "SeenTokens.h"
#include "tessera/runtime/pipeline/PipelineChannels.h"

#include <utility>

namespace tessera::runtime {

StageSession::StageSession(GeneratingStage &stage, int64_t group)
    : stage_(stage), group_(group), rank_(stage.rank()), generate_(*stage.last().generate),
      own_(*rank_.manifest().generate), ring_(size_t(stage.traffic().tokensAhead)) {}

void StageSession::clear() {
  if (!std::exchange(isWritten_, false))
    return;
  for (const StateSpec &state : rank_.manifest().states)
    if (state.clear == Clear::BeforePrompts)
      rank_.compute().fill(stage_.state(state, group_), 0, size_t(state.bytes));
}

void StageSession::give(const BufferSpec &to, char *address, const std::vector<int32_t> &global,
                        int32_t padding) {
  local_.resize(size_t(to.bytes));
  takeShard(to, rank_.manifest().mesh, rank_.id(), global.data(), &padding, local_.data());
  rank_.write(address, local_.data(), local_.size());
}

//===- Calls -===//

void StageSession::fillFromOutput(const InputSpec &input) {
  const OutputSpec &from = rank_.manifest().entries[input.entry].outputs[input.output];
  RetainedOutput &kept = retained_[{input.entry, input.output}];
  if (!kept.memory.bytes())
    kept.memory = rank_.device().allocate(size_t(from.bytes), "output " + from.name, MemoryUse::Arena);
  if (!kept.isLast)
    rank_.compute().copy(kept.memory.address(), rank_.arena() + from.offset, size_t(from.bytes));
  kept.isLast = true;
  rank_.compute().copy(rank_.arena() + input.offset, kept.memory.address(), size_t(from.bytes));
}

void StageSession::fill(const InputSpec &input, const Content &content, const char *received,
                        const StageMessage &message) {
  char *to = rank_.arena() + input.offset;
  switch (input.fill) {
  case Fill::TokenIds:
    return give(input, to, *content.tokens, 0);
  case Fill::Positions:
    return give(input, to, *content.positions, -1);
  case Fill::LastIndex:
    return give(input, to, *content.index, 0);
  case Fill::Output:
    return fillFromOutput(input);
  case Fill::Received: {
    const TravellingValue *value = message.find(input.name);
    return rank_.compute().copy(to, received + value->offset, value->bytes);
  }
  case Fill::FirstLayer: {
    auto first = int32_t(stage_.stages().spec().stages[size_t(stage_.number())].firstLayer);
    return rank_.write(to, &first, sizeof first);
  }
  default: // logits lie there; Manifest::parse lets no entry of `generate` have another one
    return;
  }
}

void StageSession::run(int64_t entry, const Content &content) {
  const EntrySpec &e = rank_.manifest().entries[size_t(entry)];
  const bool isPart = e.part == StagePart::Forward;
  StageMessage message;
  const char *received = nullptr;
  if (isPart && stage_.number() > 0) {
    message = stage_.stages().message(stage_.number() - 1, e.role, true);
    received = stage_.receive(e.role, group_);
  }
  const int64_t begin = stage_.delays() ? delayClock() : 0;
  for (const InputSpec &input : e.inputs)
    fill(input, content, received, message);
  rank_.call(entry, {}, rank_.arena(), {stage_.slot(group_)});
  if (isPart && stage_.delays()) {
    rank_.compute().synchronize();
    sleepUntil(begin + inNanoseconds(schedule::Costs::of(stage_.delays()->forward, stage_.number())));
  }
  if (isPart && !stage_.isLast())
    stage_.send(e, group_);
  isWritten_ = true;
  for (auto &[output, kept] : retained_)
    if (output.first == entry)
      kept.isLast = false;
}

void StageSession::ran(int64_t entry) {
  last_ = entry;
  if (stage_.last().entries[size_t(entry)].output(Gives::Logits))
    lastWithLogits_ = entry;
}

void StageSession::prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
                          const std::vector<int32_t> &index) {
  run(own_.prompt, {&tokens, &positions, &index});
  ran(generate_.prompt);
}

void StageSession::advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) {
  run(own_.next, {&tokens, &positions, nullptr});
  ran(generate_.next);
}

void StageSession::promptLogits(const std::vector<int32_t> &index) {
  if (stage_.isLast())
    run(own_.logits, {nullptr, nullptr, &index});
  ran(generate_.logits);
}

//===- Drawing, which the last stage does -===//

void StageSession::set(Fill fill, const void *value, size_t bytes) {
  rank_.write(stage_.state(*rank_.manifest().state(fill), group_), value, bytes);
}

void StageSession::setDrawing(const Drawing &drawing) {
  if (!stage_.isLast())
    return;
  set(Fill::Seed, &drawing.seed, sizeof(drawing.seed));
  set(Fill::Temperature, &drawing.temperature, sizeof(drawing.temperature));
  set(Fill::TopK, &drawing.topK, sizeof(drawing.topK));
  set(Fill::TopP, &drawing.topP, sizeof(drawing.topP));
  set(Fill::MinP, &drawing.minP, sizeof(drawing.minP));
  set(Fill::RepeatPenalty, &drawing.repeatPenalty, sizeof(drawing.repeatPenalty));
}

void StageSession::setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) {
  if (!stage_.isLast())
    return;
  auto rows = [&](Fill fill, const std::vector<int32_t> &values, int32_t padding) {
    const StateSpec &state = *rank_.manifest().state(fill);
    give(state, stage_.state(state, group_), values, padding);
  };
  rows(Fill::PromptNumbers, prompts, 0);
  rows(Fill::PromptLengths, lengths, -1);
}

void StageSession::setSeenTokens(size_t row, const std::vector<int32_t> &tokens) {
  if (!stage_.isLast())
    return;
  const StateSpec &state = *rank_.manifest().state(Fill::SeenTokens);
  writeSeenTokens(rank_, state, stage_.state(state, group_), row, tokens);
}

void StageSession::draw(const std::vector<int32_t> &positions) {
  if (stage_.isLast())
    run(own_.draw, {nullptr, &positions, nullptr});
  ran(generate_.draw);
}

//===- Tokens and logits -===//

void StageSession::sendNext() {
  Communicator &comm = rank_.shared().comm();
  Stream &stream = rank_.compute();
  const OutputSpec &next = *stage_.last().entries[size_t(last_)].output(Gives::NextTokens);
  auto bytes = size_t(io::bytesOf(next.dtype, elementCount(next.local)));
  const std::vector<int64_t> sources = tokenSources(stage_.stages(), rank_.id(), next);
  Tokens &slot = ring_[sent_++ % ring_.size()];
  slot.from = &next;
  if (!slot.memory.bytes())
    slot.memory =
        rank_.device().allocate(size_t(stage_.traffic().tokens), "the tokens of a group", MemoryUse::Arena);
  const int64_t tag = stage_.tokenTag(group_);
  const int32_t where = stage_.tokenName(group_);
  for (size_t i = 0; i < sources.size(); ++i) {
    char *piece = slot.memory.address() + i * bytes;
    if (sources[i] != rank_.id()) {
      slot.messages.push_back(comm.receive(sources[i], tag, piece, bytes, stream, where));
      continue;
    }
    stream.copy(piece, rank_.arena() + next.offset, bytes);
    for (int64_t taker : tokenTakers(stage_.stages(), rank_.id(), next))
      slot.messages.push_back(comm.send(taker, tag, piece, bytes, stream, where));
  }
}

std::vector<int32_t> StageSession::takeNext() {
  Tokens &slot = ring_[taken_++ % ring_.size()];
  for (CommToken message : slot.messages)
    rank_.shared().comm().wait(message, rank_.compute());
  slot.messages.clear();
  const OutputSpec &next = *slot.from;
  auto bytes = size_t(io::bytesOf(next.dtype, elementCount(next.local)));
  const std::vector<int64_t> sources = tokenSources(stage_.stages(), rank_.id(), next);
  gathered_.resize(bytes * sources.size());
  rank_.read(gathered_.data(), slot.memory.address(), gathered_.size());
  std::vector<int32_t> tokens(size_t(elementCount(next.shape)), 0);
  for (size_t i = 0; i < sources.size(); ++i)
    placeShard(next, rank_.manifest().mesh, sources[i], gathered_.data() + i * bytes, tokens.data());
  return tokens;
}

void StageSession::dropNext() {
  while (taken_ != sent_)
    takeNext();
}

// What ranks of other stages hand in is not looked at.
const std::vector<float> &StageSession::logits() {
  const OutputSpec &spec = *stage_.last().entries[size_t(lastWithLogits_)].output(Gives::Logits);
  HostPlane &plane = rank_.plane();
  local_.assign(size_t(io::bytesOf(spec.dtype, elementCount(spec.local))), 0);
  if (stage_.isLast())
    rank_.read(local_.data(), rank_.arena() + spec.offset, local_.size());
  if (isRoot())
    gathered_.resize(local_.size() * size_t(plane.ranks()));
  plane.gather(local_.data(), local_.size(), gathered_.data(), 0);
  if (!isRoot())
    return logits_;
  std::vector<char> held(size_t(io::bytesOf(spec.dtype, elementCount(spec.shape))));
  const Mesh &mesh = rank_.manifest().mesh;
  for (int64_t r = 0; r < plane.ranks(); ++r)
    if (mesh.index(r, stage_.stages().axis()) + 1 == stage_.stages().stages())
      placeShard(spec, mesh, r, gathered_.data() + size_t(r) * local_.size(), held.data());
  logits_.resize(size_t(elementCount(spec.shape)));
  io::traits(spec.dtype).widen(held.data(), elementCount(spec.shape), logits_.data());
  return logits_;
}

} // namespace tessera::runtime
