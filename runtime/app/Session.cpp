#include "Session.h"
#include "Buffers.h"
#include "SeenTokens.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera::runtime {

const GenerateSpec &generateOf(const Manifest &manifest) {
  if (!manifest.generate)
    throw Error("cannot generate", manifest.model, "this program does not generate text",
                "compile a language model with --task=generate");
  return *manifest.generate;
}

Session::Session(Rank &rank) : rank_(rank), generate_(generateOf(rank.manifest())) {
  ring_.resize(size_t(stepsAhead()) + 1);
  // At once: pinning memory in the midst of a run takes time.
  size_t bytes = 0;
  for (const EntrySpec &entry : rank.manifest().entries)
    if (const OutputSpec *next = entry.output(Gives::NextTokens))
      bytes = std::max(bytes, size_t(io::bytesOf(next->dtype, elementCount(next->local))));
  for (SentNext &slot : ring_) {
    slot.copied = rank.device().createEvent();
    slot.memory = rank.device().allocateHost(bytes, "the tokens of rank " + std::to_string(rank.id()));
  }
  setEndTokens({}, false); // states begin as zeros, and 0 is an id
}

void Session::clear() {
  rank_.clearStates();
  if (!goesOn())
    return;
  const StateSpec &positions = rank_.manifest().states[generate_.positionState];
  rank_.compute().fill(rank_.arena() + positions.offset, 0xFF, size_t(positions.bytes)); // -1: inert
}

void Session::give(const BufferSpec &to, const std::vector<int32_t> &global, int32_t padding) {
  local_.resize(size_t(to.bytes));
  takeShard(to, rank_.manifest().mesh, rank_.id(), global.data(), &padding, local_.data());
  rank_.write(rank_.arena() + to.offset, local_.data(), local_.size());
}

void Session::fillFromOutput(const InputSpec &input) {
  const OutputSpec &from = rank_.manifest().entries[input.entry].outputs[input.output];
  RetainedOutput &kept = retained_[{input.entry, input.output}];
  if (!kept.memory.bytes())
    kept.memory = rank_.device().allocate(size_t(from.bytes),
                                          "output " + from.name + " of rank " + std::to_string(rank_.id()),
                                          MemoryUse::Arena);
  if (!kept.isLast)
    rank_.compute().copy(kept.memory.address(), rank_.arena() + from.offset, size_t(from.bytes));
  kept.isLast = true;
  rank_.compute().copy(rank_.arena() + input.offset, kept.memory.address(), size_t(from.bytes));
}

void Session::run(int64_t entry, const Content &content) {
  for (const InputSpec &input : rank_.manifest().entries[entry].inputs)
    switch (input.fill) {
    case Fill::TokenIds:
      give(input, *content.tokens, 0);
      break;
    case Fill::Positions:
      give(input, *content.positions, -1);
      break;
    case Fill::LastIndex:
      give(input, *content.index, 0);
      break;
    case Fill::Output:
      fillFromOutput(input);
      break;
    case Fill::Logits: // lie there
      break;
    default: // Manifest::parse lets no entry of `generate` have another one
      break;
    }
  rank_.call(entry);
  ran(entry);
}

void Session::ran(int64_t entry) {
  for (auto &[output, kept] : retained_)
    if (output.first == entry)
      kept.isLast = false;
  last_ = entry;
  if (rank_.manifest().entries[entry].output(Gives::Logits))
    lastWithLogits_ = entry;
}

std::vector<int64_t> Session::promptSizes() const {
  std::vector<int64_t> sizes;
  for (const GenerateSpec::Prompt &prompt : generate_.prompts)
    sizes.push_back(prompt.positions);
  return sizes;
}

void Session::prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
                     const std::vector<int32_t> &index) {
  const int64_t size = int64_t(tokens.size()) / generate_.batch;
  const auto taker =
      std::find_if(generate_.prompts.begin(), generate_.prompts.end(),
                   [&](const GenerateSpec::Prompt &prompt) { return prompt.positions == size; });
  run(taker->entry, {&tokens, &positions, &index});
}

void Session::advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) {
  if (goesOn()) {
    give(rank_.manifest().states[generate_.tokenState], tokens, 0);
    give(rank_.manifest().states[generate_.positionState], positions, -1);
  }
  run(generate_.next, {&tokens, &positions, nullptr});
}

void Session::advance() { run(generate_.next, {}); }

void Session::set(const StateSpec &state, const void *value, size_t bytes) {
  rank_.write(rank_.arena() + state.offset, value, bytes);
}

void Session::setDrawing(const Drawing &drawing) {
  const Manifest &m = rank_.manifest();
  set(*m.state(Fill::Seed), &drawing.seed, sizeof(drawing.seed));
  set(*m.state(Fill::Temperature), &drawing.temperature, sizeof(drawing.temperature));
  set(*m.state(Fill::TopK), &drawing.topK, sizeof(drawing.topK));
  set(*m.state(Fill::TopP), &drawing.topP, sizeof(drawing.topP));
  set(*m.state(Fill::MinP), &drawing.minP, sizeof(drawing.minP));
  set(*m.state(Fill::RepeatPenalty), &drawing.repeatPenalty, sizeof(drawing.repeatPenalty));
}

void Session::setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) {
  give(*rank_.manifest().state(Fill::PromptNumbers), prompts, 0);
  give(*rank_.manifest().state(Fill::PromptLengths), lengths, -1);
}

void Session::setSeenTokens(size_t row, const std::vector<int32_t> &tokens) {
  const StateSpec &state = *rank_.manifest().state(Fill::SeenTokens);
  writeSeenTokens(rank_, state, rank_.arena() + state.offset, row, tokens);
}

void Session::setEndTokens(const std::vector<int32_t> &ids, bool drawn) {
  for (Fill fill : {Fill::EndTokens, Fill::DrawnEndTokens})
    if (const StateSpec *state = rank_.manifest().state(fill)) {
      std::vector<int32_t> list(size_t(state->shape[0]), -1);
      if (drawn == (fill == Fill::DrawnEndTokens))
        std::copy_n(ids.begin(), std::min(ids.size(), list.size()), list.begin());
      give(*state, list, -1);
    }
}

void Session::hold(const std::vector<size_t> &rows) {
  if (!goesOn() || rows.empty())
    return;
  // Which of the rows this rank has, and where.
  const StateSpec &positions = rank_.manifest().states[generate_.positionState];
  std::vector<int32_t> numbers(size_t(generate_.batch)), own(size_t(positions.bytes) / sizeof(int32_t));
  std::iota(numbers.begin(), numbers.end(), 0);
  const int32_t nobody = -1, inert = -1;
  takeShard(positions, rank_.manifest().mesh, rank_.id(), numbers.data(), &nobody, own.data());
  for (size_t at = 0; at < own.size(); ++at)
    if (std::find(rows.begin(), rows.end(), size_t(own[at])) != rows.end())
      rank_.write(rank_.arena() + positions.offset + at * sizeof(inert), &inert, sizeof(inert));
}

void Session::draw(const std::vector<int32_t> &positions) {
  run(generate_.draw, {nullptr, &positions, nullptr});
}

void Session::advanceDrawing() {
  rank_.callInTurn({generate_.next, generate_.draw});
  ran(generate_.next);
  ran(generate_.draw);
}

void Session::promptLogits(const std::vector<int32_t> &index) {
  run(generate_.logits, {nullptr, nullptr, &index});
}

template <typename T> void Session::fetch(const BufferSpec &spec, std::vector<T> &global) {
  const char *held = rank_.arena() + spec.offset;
  auto bytes = size_t(io::bytesOf(spec.dtype, elementCount(spec.local)));
  if (isReplicated(spec)) {
    if (isRoot()) {
      global.resize(size_t(io::bytesOf(spec.dtype, elementCount(spec.shape))) / sizeof(T));
      rank_.read(global.data(), held, bytes);
    }
    return;
  }
  local_.resize(bytes);
  rank_.read(local_.data(), held, bytes);
  gather(spec, global);
}

template <typename T> void Session::gather(const BufferSpec &spec, std::vector<T> &global) {
  if (isRoot()) {
    global.assign(size_t(io::bytesOf(spec.dtype, elementCount(spec.shape))) / sizeof(T), T(0));
    gathered_.resize(local_.size() * rank_.plane().ranks());
  }
  rank_.plane().gather(local_.data(), local_.size(), gathered_.data(), 0);
  if (isRoot())
    for (int64_t r = 0; r < rank_.plane().ranks(); ++r)
      placeShard(spec, rank_.manifest().mesh, r, gathered_.data() + r * local_.size(), global.data());
}

void Session::sendNext() {
  const OutputSpec &next = *rank_.manifest().entries[last_].output(Gives::NextTokens);
  auto bytes = size_t(io::bytesOf(next.dtype, elementCount(next.local)));
  SentNext &slot = ring_[sent_++ % ring_.size()];
  slot.from = &next;
  rank_.compute().download(slot.memory.as<char>(), rank_.arena() + next.offset, bytes);
  rank_.compute().record(*slot.copied);
}

std::vector<int32_t> Session::takeNext() {
  SentNext &slot = ring_[taken_++ % ring_.size()];
  slot.copied->wait();
  const int32_t *held = slot.memory.as<int32_t>();
  auto count = size_t(elementCount(slot.from->local));
  // What all ranks have is the same on all of them.
  if (isReplicated(*slot.from))
    return {held, held + count};
  local_.assign(slot.memory.as<char>(), slot.memory.as<char>() + count * sizeof(int32_t));
  std::vector<int32_t> tokens;
  gather(*slot.from, tokens);
  tokens.resize(size_t(generate_.batch));
  shareFromRoot(tokens);
  return tokens;
}

const std::vector<float> &Session::logits() {
  const BufferSpec &spec = *rank_.manifest().entries[lastWithLogits_].output(Gives::Logits);
  if (spec.dtype == io::DType::F32) {
    fetch(spec, logits_);
    return logits_;
  }
  std::vector<char> held;
  fetch(spec, held);
  if (isRoot()) {
    logits_.resize(size_t(elementCount(spec.shape)));
    io::traits(spec.dtype).widen(held.data(), elementCount(spec.shape), logits_.data());
  }
  return logits_;
}

void Session::shareFromRoot(std::vector<int32_t> &data) {
  if (rank_.plane().ranks() > 1)
    rank_.plane().broadcast(data.data(), data.size() * sizeof(data[0]), 0);
}

} // namespace tessera::runtime
