#include "PipelineStep.h"
#include "PredictedTrace.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/pipeline/Delays.h"
#include "tessera/runtime/schedule/Simulate.h"
#include "tessera/runtime/schedule/Text.h"

#include <algorithm>
#include <array>

namespace tessera::runtime {

using schedule::Action;
using schedule::Kind;

// By their places in StageRole: values, gradients.
enum { Values, Gradients };

// What was received is kept from forward to the end of backward, its gradient from I to W.
char *PipelineStep::Stage::keptValue(int64_t microBatch) const {
  return memory.address() + size_t(slots.of(Slot::Whole).slotOf[size_t(microBatch)]) * bytes.kept.value;
}
char *PipelineStep::Stage::keptGradient(int64_t microBatch) const {
  return memory.address() + size_t(slots.of(Slot::Whole).slots) * bytes.kept.value +
         size_t(slots.of(Slot::FromInputGradient).slotOf[size_t(microBatch)]) * bytes.kept.gradient;
}
std::array<char *, kSlots> PipelineStep::Stage::slotsOf(int64_t microBatch) const {
  std::array<char *, kSlots> addresses{};
  char *others = memory.address() + bytesOfSlots(slots, bytes).keptMessages;
  for (int kind = 0; kind < kSlots; ++kind) {
    const SlotPlan::Kind &plan = slots.kinds[size_t(kind)];
    const int64_t size = bytes.slots[size_t(kind)];
    int32_t slot = plan.slotOf[size_t(microBatch)];
    addresses[size_t(kind)] =
        slot == 0 ? rank.arena() + rank.manifest().slotBegin(kind) : others + (slot - 1) * size;
    others += (plan.slots - 1) * size;
  }
  return addresses;
}

PipelineStep::PipelineStep(const PipelineRun &run, RankPrograms &programs)
    : run_(run), stages_(run.stages()), programs_(programs),
      coordinate_(mesh().index(programs[0]->id(), stages_.axis())),
      inputs_(programs[0]->shared(), mesh(), spec().microBatches), delays_(pipelineDelays(stages_.stages())) {
  const std::vector<int32_t> numbers = stages_.stagesAt(coordinate_);
  for (size_t i = 0; i < numbers.size(); ++i) {
    own_.push_back(
        {numbers[i], *programs[i], stages_.spec().stages[size_t(numbers[i])].firstLayer, {}, {}, {}});
    for (Role role : {Role::Train, Role::TrainDropout, Role::Evaluate})
      if (stages_.has(role))
        describe(own_.back(), role);
    allocateSlots(own_.back());
  }
  allocateValues();
  Device &device = rank().device();
  const std::vector<PipelineSpec::Shared> &shared = stages_.spec().shared;
  for (size_t w = 0; w < shared.size(); ++w) {
    SharedWeight weight{w, {}, {}};
    bool isOwn = false;
    for (int end : {0, 1})
      for (Stage &one : own_) {
        if (one.number != shared[w].stages[end])
          continue;
        isOwn = true;
        role_ = Role::Train;
        auto bytes = size_t(entry(one, StagePart::Share)->output(runtime::sharedName(shared[w]))->bytes);
        weight.own[end] = device.allocate(bytes, "a shared gradient", MemoryUse::Arena);
        weight.other[end] = device.allocate(bytes, "a shared gradient", MemoryUse::Arena);
      }
    if (isOwn)
      weights_.push_back(std::move(weight));
  }
}

// What it takes is what its neighbours give.
void PipelineStep::describe(Stage &stage, Role role) {
  StageRole &of = stage.roles[role];
  of.given[Values] = stages_.message(stage.number, role, true);
  of.given[Gradients] = stages_.message(stage.number, role, false);
  if (stage.number > 0)
    of.taken[Values] = stages_.message(stage.number - 1, role, true);
  if (stage.number + 1 < stages_.stages())
    of.taken[Gradients] = stages_.message(stage.number + 1, role, false);
  of.kept = stages_.keptMessages(stage.number, role);
}

void PipelineStep::allocateSlots(Stage &stage) {
  const schedule::Schedule &lists = stages_.lists(Role::Train);
  stage.slots = planSlots(lists.ranks[size_t(coordinate_)], stage.number, lists.microBatches);
  stage.bytes = bytesOfStage(stages_, stage.number);
  if (const int64_t bytes = bytesOfSlots(stage.slots, stage.bytes).total())
    stage.memory = rank().device().allocate(
        size_t(bytes), "what stage " + std::to_string(stage.number) + " keeps of micro-batches",
        MemoryUse::Arena);
}

void PipelineStep::allocateValues() {
  std::vector<StepTraffic> steps = trafficOf(stages_);
  for (StepTraffic &step : steps)
    if (delays_)
      step.sizes = stampedSizes(step.sizes);
  if (const int64_t bytes = bytesOfValues(steps, coordinate_))
    values_ = rank().device().allocate(size_t(bytes), "values between stages", MemoryUse::Arena);
}

PipelineStep::Stage &PipelineStep::stage(int32_t number) {
  return *std::find_if(own_.begin(), own_.end(), [&](const Stage &one) { return one.number == number; });
}

Rank *PipelineStep::holder(size_t part) {
  for (Stage &one : own_)
    if (size_t(one.number) == part)
      return &one.rank;
  return nullptr;
}

const EntrySpec *PipelineStep::entry(const Stage &stage, StagePart part) const {
  const Manifest &manifest = stage.rank.manifest();
  int64_t number = manifest.partIndex(stages_.ownRole(stage.number, role_), part);
  return number < 0 ? nullptr : &manifest.entries[size_t(number)];
}

//===- Calls -===//

// The other end's gradient of a weight; `end`: which of its two stages this one is.
const PipelineStep::SharedWeight &PipelineStep::shared(int32_t stage, const std::string &name,
                                                       int &end) const {
  const std::vector<PipelineSpec::Shared> &all = stages_.spec().shared;
  auto weight = std::find_if(weights_.begin(), weights_.end(), [&](const SharedWeight &one) {
    const PipelineSpec::Shared &spec = all[one.number];
    return runtime::sharedName(spec) == name && (spec.stages[0] == stage || spec.stages[1] == stage);
  });
  end = all[weight->number].stages[1] == stage;
  return *weight;
}

void PipelineStep::fill(Stage &stage, const InputSpec &input, const CallInputs &inputs) {
  Rank &rank = stage.rank;
  char *to = rank.arena() + input.offset;
  auto take = [&](const char *message, int which) {
    const TravellingValue *value = stage.roles.at(role_).taken[which].find(input.name);
    rank.compute().copy(to, message + value->offset, value->bytes);
  };
  auto write = [&](auto value) { rank.write(to, &value, sizeof value); };
  switch (input.fill) {
  case Fill::Received:
    return take(inputs.value, Values);
  case Fill::ReceivedGradient:
    return take(inputs.gradient, Gradients);
  case Fill::FirstLayer:
    return write(int32_t(stage.firstLayer));
  case Fill::MicroBatch:
    return write(int32_t(inputs.microBatch));
  case Fill::StageSum:
    return write(sums_.at(input.name));
  case Fill::SharedGradient: {
    int end = 0;
    const SharedWeight &weight = shared(stage.number, input.name, end);
    return rank.compute().copy(to, weight.other[end].address(), weight.other[end].bytes());
  }
  default:
    inputs_.write(rank, input, inputs.microBatch); // Manifest::parse lets it have no other
  }
}

bool PipelineStep::call(Stage &stage, StagePart part, const CallInputs &inputs) {
  const EntrySpec *e = entry(stage, part);
  if (!e)
    return false;
  Rank &rank = stage.rank;
  for (const InputSpec &input : e->inputs)
    fill(stage, input, inputs);
  if (observer_)
    observer_->entered(rank, *e, calledPart(stage, *e, inputs.action));
  rank.call(e - rank.manifest().entries.data(), {}, rank.arena(), inputs.slots);
  if (observer_)
    observer_->left();
  const StageRole &of = stage.roles.at(role_);
  for (const OutputSpec &output : e->outputs) {
    const char *from = rank.arena() + output.offset;
    if (output.gives == Gives::Sent || output.gives == Gives::SentGradient) {
      const TravellingValue *value =
          of.given[output.gives == Gives::Sent ? Values : Gradients].find(output.name);
      rank.compute().copy(inputs.out + value->offset, from, value->bytes);
    } else if (output.gives == Gives::SharedGradient) {
      int end = 0;
      const SharedWeight &weight = shared(stage.number, output.name, end);
      rank.compute().copy(weight.own[end].address(), from, weight.own[end].bytes());
    }
  }
  return true;
}

void PipelineStep::compute(const Action &part, const void *in, void *out, Stream &stream) {
  Stage &stage = this->stage(part.stage);
  const StageRole &of = stage.roles.at(role_);
  auto message = static_cast<const char *>(in);
  CallInputs inputs{part.microBatch, message, message, static_cast<char *>(out), {}, &part};
  if (role_ == Role::Evaluate) { // which keeps nothing
    call(stage, StagePart::Forward, inputs);
    return;
  }
  inputs.slots = stage.slotsOf(part.microBatch);
  if (part.kind == Kind::Forward) {
    if (of.kept.value)
      stream.copy(stage.keptValue(part.microBatch), message, of.kept.value);
    call(stage, StagePart::Forward, inputs);
    return;
  }
  inputs.value = stage.keptValue(part.microBatch);
  if (message && of.kept.gradient)
    stream.copy(stage.keptGradient(part.microBatch), message, of.kept.gradient);
  if (part.kind == Kind::Backward && call(stage, StagePart::Backward, inputs))
    return;
  if (part.kind != Kind::BackwardWeight)
    call(stage, StagePart::InputGradient, inputs);
  inputs.gradient = stage.keptGradient(part.microBatch);
  if (part.kind != Kind::BackwardInput)
    call(stage, StagePart::WeightGradient, inputs);
}

//===- Who watches -===//

void PipelineStep::drawPrediction(int64_t first, TraceEvents &events) const {
  if (std::optional<Prediction> prediction = predictStep(stages_))
    putPrediction(stages_, *prediction, first, events);
}

void PipelineStep::observe(StepObserver *observer) {
  observer_ = observer;
  for (Stage &one : own_)
    one.rank.observe(observer);
  for (Role role : {Role::Train, Role::TrainDropout})
    if (stages_.has(role))
      executor(role).observe(observer);
  orders_.clear();
  if (!observer)
    return;
  // Where durations are whole numbers above 0, who reads begins later than who makes.
  const schedule::Schedule &lists = stages_.lists(Role::Train);
  const schedule::Simulation walk = schedule::simulate(lists);
  for (size_t r = 0; r < lists.ranks.size(); ++r)
    for (size_t i = 0; i < lists.ranks[r].size(); ++i)
      if (schedule::computes(lists.ranks[r][i].kind))
        for (const Action &part : schedule::partsOf(lists.ranks[r][i]))
          orders_[schedule::toString(part)] = 1 + int64_t(walk.spans[r][i].begin);
}

CalledPart PipelineStep::calledPart(const Stage &stage, const EntrySpec &entry, const Action *action) const {
  if (action) {
    const std::string name = schedule::toString(*action);
    return {name, orders_.at(name), stage.firstLayer};
  }
  // Before all actions, or behind them in the order of a step.
  const int64_t first = entry.part == StagePart::Begin ? 0 : int64_t(1) << 20;
  return {entry.name + " of stage " + std::to_string(stage.number), first + int64_t(entry.part),
          stage.firstLayer};
}

//===- A step -===//

PipelineExecutor &PipelineStep::executor(Role role) {
  std::unique_ptr<PipelineExecutor> &executor = executors_[role];
  if (!executor)
    executor = std::make_unique<PipelineExecutor>(
        stages_.lists(role), int32_t(coordinate_), mesh().group(rank().id(), stages_.axis()),
        stages_.sizes(role), stages_.sendBuffers(role), rank().comm(), rank().device(),
        run_.firstAction(role, coordinate_), delays_, values_.address());
  return *executor;
}

float PipelineStep::number(Stage &stage, const EntrySpec &entry, const BufferSpec &output) {
  float value = 0;
  stage.rank.read(&value, stage.rank.arena() + output.offset, sizeof value);
  return value;
}

TrainStep::Loss PipelineStep::run(Role role, const StepRows &rows, int64_t update,
                                  const Hyperparameters &numbers) {
  role_ = role;
  sums_.clear();
  inputs_.begin(rows, update, numbers);
  for (Stage &one : own_)
    for (const EntrySpec &e : one.rank.manifest().entries)
      if (e.role == stages_.ownRole(one.number, role))
        inputs_.read(rows, e);
  for (Stage &one : own_)
    call(one, StagePart::Begin, {});
  executor(role).run(*this, rank().compute());
  for (Stage &one : own_)
    call(one, StagePart::Share, {});
  if (role != Role::Evaluate)
    exchangeShared();
  addUp();
  Loss loss;
  loss.targets = inputs_.targets();
  for (Stage &one : own_) {
    call(one, StagePart::Update, {});
    const EntrySpec &last = *entry(one, StagePart::Update);
    loss.loss = double(number(one, last, *last.output(Gives::Loss)));
    if (const OutputSpec *norm = last.output(Gives::GradNorm))
      loss.gradNorm = double(number(one, last, *norm));
  }
  rank().comm().expectAllWaitedFor();
  return loss;
}

// Each of the two stages gets the other's gradient. Both lie on ranks that differ along the pipeline alone.
void PipelineStep::exchangeShared() {
  Communicator &comm = rank().comm();
  Stream &stream = rank().compute();
  const schedule::Schedule &lists = stages_.lists(role_);
  // The lists' messages have all arrived, so their tags are free; and nobody goes on to the next step before
  // all of these are asked for.
  std::vector<CommToken> tokens;
  for (const SharedWeight &weight : weights_) {
    const PipelineSpec::Shared &spec = stages_.spec().shared[weight.number];
    for (int end : {0, 1}) {
      if (!weight.own[end].bytes())
        continue;
      if (weight.own[1 - end].bytes()) {
        stream.copy(weight.other[end].address(), weight.own[1 - end].address(), weight.other[end].bytes());
        continue;
      }
      int64_t peer =
          mesh().member(rank().id(), stages_.axis(), lists.rankOfStage[size_t(spec.stages[1 - end])]);
      auto tag = [&](int from) { return 2 * int64_t(weight.number) + from; };
      int32_t where = run_.sharedName(weight.number);
      tokens.push_back(comm.receive(peer, tag(1 - end), weight.other[end].address(),
                                    weight.other[end].bytes(), stream, where));
      tokens.push_back(
          comm.send(peer, tag(end), weight.own[end].address(), weight.own[end].bytes(), stream, where));
    }
  }
  for (CommToken token : tokens)
    comm.wait(token, stream);
}

// Every rank adds the same numbers in the same order, that of the stages: the same bits.
void PipelineStep::addUp() {
  const std::vector<std::string> names = stages_.sums(role_);
  const int64_t ranks = stages_.lists(role_).numRanks();
  size_t most = 0; // stages of a rank
  for (int64_t at = 0; at < ranks; ++at)
    most = std::max(most, stages_.stagesAt(at).size());
  const size_t block = most * names.size();
  std::vector<float> own(block), all(block * size_t(ranks));
  for (size_t i = 0; i < own_.size(); ++i) {
    Stage &one = own_[i];
    if (!call(one, StagePart::Sum, {}))
      continue;
    const EntrySpec &e = *entry(one, StagePart::Sum);
    for (size_t n = 0; n < names.size(); ++n)
      if (const OutputSpec *output = e.output(names[n]))
        own[i * names.size() + n] = number(one, e, *output);
  }
  if (block == 0)
    return;
  auto reserve = [&](Buffer &buffer, size_t count) {
    if (buffer.bytes() < count * sizeof(float))
      buffer = rank().device().allocate(count * sizeof(float), "sums over stages", MemoryUse::Arena);
  };
  reserve(ownSums_, own.size());
  reserve(allSums_, all.size());
  Rank &any = program(0);
  any.write(ownSums_.address(), own.data(), own.size() * sizeof(float));
  rank().comm().run({CollectiveKind::AllGather, Reduction::None, io::DType::F32, /*group=*/0, int64_t(block)},
                    ownSums_.address(), allSums_.address(), rank().compute(), run_.sumsName());
  any.read(all.data(), allSums_.address(), all.size() * sizeof(float));
  std::vector<size_t> next(static_cast<size_t>(ranks)); // place of a stage among its rank's
  for (int32_t s = 0; s < stages_.stages(); ++s) {
    auto at = size_t(stages_.spec().stages[size_t(s)].at);
    const float *of = all.data() + at * block + next[at]++ * names.size();
    const Manifest &manifest = stages_.manifest(s);
    int64_t number = manifest.partIndex(stages_.ownRole(s, role_), StagePart::Sum);
    for (size_t n = 0; number >= 0 && n < names.size(); ++n)
      if (manifest.entries[size_t(number)].output(names[n]))
        sums_[names[n]] += of[n];
  }
}

} // namespace tessera::runtime
