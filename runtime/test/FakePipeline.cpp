// A hand-written program that trains, whole or in the stages of a pipeline, in the form the compiler emits,
// for tests of the runtime. The environment says what it is:
//   FAKE_STAGES=2,0,3   layers of each stage; one stage is a program without a pipeline
//   FAKE_SCHEDULE=1f1b  name of a schedule (schedule/Generate.h)
//   FAKE_PP=2           ranks of the pipeline
//   FAKE_DP=1           ranks that share the rows
//   FAKE_RECOMPUTE=1    backward begins with the forward of the stage, from what it received
//   FAKE_DROPS=1        the first stage has a step with dropout, which drops nothing all the same
//   FAKE_BREAK=WHAT     a mistake in the manifests, for tests of what is refused
#include "FakePipelineModel.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Text.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;
namespace schedule = tessera::schedule;

struct Program : Layout {
  std::vector<std::vector<ts_kernel_buffer>> buffers;
  std::vector<ts_kernel> kernels;
  std::vector<ts_entry_fn> entries;
  std::string manifest;
  ts_program program{};

  void make(int64_t number);
  void addDropout(Json &all) const;
  Json entry(const char *role, const char *part, Json inputs, Json outputs, bool updates) const;
};
Program programs[4];

template <int P> struct Entries {
  static Calls calls(ts_rank *rank, const ts_call *call) {
    const Program &p = programs[P];
    if (p.isWhole) // of which calls have no slots
      return {rank, p, call->base, call->base + p.kept, call->base + p.gradients};
    return {rank, p, call->base, call->slots[TS_SLOT_WHOLE], call->slots[TS_SLOT_FROM_INPUT_GRADIENT]};
  }
  static void begin(ts_rank *rank, const ts_call *call) { calls(rank, call).begin(); }
  static void forward(ts_rank *rank, const ts_call *call) { calls(rank, call).forward(0); }
  static void inputGradient(ts_rank *rank, const ts_call *call) { calls(rank, call).inputGradient(0); }
  static void weightGradient(ts_rank *rank, const ts_call *call) { calls(rank, call).weightGradient(0); }
  static void backward(ts_rank *rank, const ts_call *call) {
    inputGradient(rank, call);
    weightGradient(rank, call);
  }
  static void share(ts_rank *rank, const ts_call *call) { calls(rank, call).share(); }
  static void sum(ts_rank *rank, const ts_call *call) { calls(rank, call).sum(); }
  static void update(ts_rank *rank, const ts_call *call) { calls(rank, call).update(true); }
  static void finish(ts_rank *rank, const ts_call *call) { calls(rank, call).update(false); }
  static void evaluateSum(ts_rank *rank, const ts_call *call) {
    calls(rank, call).share();
    calls(rank, call).sum();
  }
  static void train(ts_rank *rank, const ts_call *call) { calls(rank, call).whole(true); }
  static void evaluate(ts_rank *rank, const ts_call *call) { calls(rank, call).whole(false); }
  static std::vector<ts_entry_fn> whole() { return {train, evaluate}; }
  static std::vector<ts_entry_fn> together() {
    return {begin, forward, backward, share, sum, update, begin, forward, evaluateSum, finish};
  }
  static std::vector<ts_entry_fn> apart() {
    return {begin,  forward, inputGradient, weightGradient, share, sum,
            update, begin,   forward,       evaluateSum,    finish};
  }
};

//===- Manifests -===//

const Json none = Json::array(), overRows = dp > 1 ? Json{{"dp", 1, dp}} : Json::array();

Json buffer(const std::string &name, const char *dtype, Json shape, Json local, Json sharding,
            int64_t offset) {
  return {{"name", name},   {"dtype", dtype},       {"shape", shape},
          {"local", local}, {"sharding", sharding}, {"offset", offset}};
}
Json number(const std::string &name, int64_t offset, const char *dtype = "f32") {
  return buffer(name, dtype, none, none, none, offset);
}
Json filled(Json what, const char *fill) {
  what["fill"] = fill;
  return what;
}
Json given(Json what, const char *gives) {
  what["gives"] = gives;
  return what;
}
Json values(const std::string &name, int64_t offset) { // of a micro-batch
  return buffer(name, "f32", {R, S, D}, {Rl, S, D}, {overRows, none, none}, offset);
}

// What the schedule of this pipeline is.
schedule::Schedule lists() {
  static const schedule::Schedule made = [] {
    auto stages = int32_t(stageLayers().size());
    std::optional<schedule::Name> name = schedule::scheduleFromName(setting("FAKE_SCHEDULE", "1f1b"));
    auto result = schedule::generate(*name, int32_t(pp), int32_t(M), stages / int32_t(pp));
    if (!result) {
      fprintf(stderr, "%s\n", result.failure().message().c_str());
      exit(3);
    }
    return schedule::lower(result.take(), schedule::Lowering::Eager);
  }();
  return made;
}
bool inTwo() {
  for (const schedule::ActionList &list : lists().ranks)
    for (const schedule::Action &action : list)
      if (action.kind == schedule::Kind::BackwardInput)
        return true;
  return false;
}

Json Program::entry(const char *role, const char *part, Json inputs, Json outputs, bool updates) const {
  Json reads = none;
  for (int first : {table, bias, scales})
    for (int i = 0; first >= 0 && i < (updates ? 3 : 1); ++i)
      reads.push_back(first + i);
  std::sort(reads.begin(), reads.end());
  Json e = {{"name", std::string(role) + (part ? std::string("_") + part : "")},
            {"role", role},
            {"inputs", inputs},
            {"outputs", outputs},
            {"states", {{"reads", none}, {"writes", none}}},
            {"params", {{"reads", reads}, {"updates", updates ? reads : none}}},
            {"collectives", none}};
  if (part)
    e["stage_part"] = part;
  return e;
}

Json parameter(const char *name, const char *tensor, Json shape, int64_t layers, const char *state, int of) {
  Json json = {{"name", std::string(state ? state : "") + (state ? "." : "") + name},
               {"dtype", "f32"},
               {"layers", layers},
               {"shape", shape},
               {"sharding", shape.size() == 2 ? Json{none, none} : Json{none}},
               {"local", shape},
               {"variable", true},
               {"deviation", 0.3},
               {"sources", {{{"name", tensor}, {"shape", shape}}}}};
  if (state) {
    json["state"] = state;
    json["of"] = of;
  }
  return json;
}

Json mesh(int64_t pipeline) {
  Json axes = Json::array();
  axes.push_back(Json::array({"pp", pipeline}));
  axes.push_back(Json::array({"dp", dp}));
  return axes;
}

Json top(int64_t pipeline) {
  return {{"version", 2},
          {"task", "train"},
          {"dtype", "f32"},
          {"target", "cpu"},
          {"model", "/dev/null"},
          {"architecture", "fake"},
          {"train",
           {{"batch", B}, {"seq", S}, {"micro_batches", M}, {"vocab", V}, {"gradient_state", "exp_avg"}}},
          {"mesh", mesh(pipeline)},
          {"states", none},
          {"matmuls", none},
          {"arena_bytes", 0},
          {"params", none},
          {"groups", none},
          {"collectives", none},
          {"entries", none}};
}

void Program::make(int64_t index) {
  Json params = none;
  auto add = [&](const char *name, const char *tensor, Json shape, int64_t count) {
    auto first = int(params.size());
    params.push_back(parameter(name, tensor, shape, count, nullptr, -1));
    params.push_back(parameter(name, tensor, shape, count, "exp_avg", first));
    params.push_back(parameter(name, tensor, shape, count, "exp_avg_sq", first));
    return first;
  };
  if (isFirst || isLast)
    table = add("table", "table", {V, D}, 0);
  if (layers)
    scales = add("layers.scale", "layers.{}.scale", Json::array({D}), layers);
  if (isLast)
    bias = add("bias", "bias", Json::array({V}), 0);
  sums = scalesAt + layers * D;
  const int64_t batches = isWhole ? M : 1;
  int64_t next = 0;
  auto place = [&](int64_t bytes) {
    int64_t offset = next;
    next += align(bytes);
    return offset;
  };
  kept = place((layers + 1) * X * 4);
  gradients = place((layers + 1) * X * 4);
  sumsAt = place(sums * 4);
  total = place(V * D * 4);
  tokens = place(batches * ids * 4);
  positions = place(batches * ids * 4);
  targets = place(batches * ids * 4);
  micro = place(4);
  for (int64_t *one :
       {&weight, &firstLayer, &key, &share, &lossSum, &squares, &allLoss, &allSquares, &loss, &norm})
    *one = place(4);
  for (int64_t *one : {&received, &receivedGradient, &sent, &sentGradient})
    *one = place(X * 4);
  shared = place(V * D * 4);
  otherShared = place(V * D * 4);
  numbers = place(64 * Numbers);
  arena = next;

  const int64_t keptBytes = (layers + 1) * X * 4, idBytes = ids * 4, tableBytes = table < 0 ? 4 : V * D * 4,
                biasBytes = bias < 0 ? 4 : V * 4, scaleBytes = scales < 0 ? 4 : layers * D * 4;
  auto kernel = [&](const char *name, ts_kernel_fn function, int32_t scalars,
                    std::vector<ts_kernel_buffer> of) {
    buffers.push_back(std::move(of));
    kernels.push_back(
        {name, function, buffers.back().data(), int32_t(buffers.back().size()), scalars, 0, 0, 0});
  };
  auto in = [](int64_t bytes) { return ts_kernel_buffer{bytes, TS_READ}; };
  auto out = [](int64_t bytes) { return ts_kernel_buffer{bytes, TS_WRITE}; };
  auto both = [](int64_t bytes) { return ts_kernel_buffer{bytes, TS_UPDATE}; };
  kernel("zero", zeroKernel, 1, {out(sums * 4)});
  kernel("forward", forwardKernel, 4,
         {in(idBytes), in(idBytes), in(4), in(4), in(X * 4), in(tableBytes), in(scaleBytes), out(keptBytes)});
  kernel("loss", lossKernel, 4,
         {in(X * 4), in(idBytes), in(4), in(tableBytes), in(biasBytes), both(sums * 4)});
  kernel("input_gradient", inputGradientKernel, 4,
         {in(keptBytes), in(X * 4), in(idBytes), in(4), in(tableBytes), in(biasBytes), in(scaleBytes),
          out(keptBytes)});
  kernel("weight_gradient", weightGradientKernel, 4,
         {in(keptBytes), in(keptBytes), in(idBytes), in(idBytes), in(4), in(tableBytes), in(biasBytes),
          both(sums * 4)});
  kernel("sum", sumKernel, 4, {in(sums * 4), in(V * D * 4), out(V * D * 4), out(4)});
  kernel("finish", finishKernel, 4, {in(4), in(4), out(4), out(4)});
  for (auto [name, count] :
       {std::pair("update_table", V * D), {"update_bias", V}, {"update_scales", layers * D}})
    kernel(name, updateKernel, 2,
           {both(count * 4), both(count * 4), both(count * 4), in((name[7] == 't' ? V * D : sums) * 4), in(4),
            in(64 * Numbers)});

  Json json = top(isWhole ? pp : 1);
  json["arena_bytes"] = arena;
  json["params"] = params;
  json["groups"] = Json::array({overRows});
  json["collectives"] = Json::array({{{"kind", "all_reduce"},
                                      {"op", "sum"},
                                      {"dtype", "f32"},
                                      {"group", 0},
                                      {"elements", sums},
                                      {"why", "gradients and loss"}}});
  auto state = [&](const char *name, int64_t offset, int64_t bytes) {
    Json s = buffer(name, "f32", {bytes / 4}, {bytes / 4}, {none}, offset);
    s["clear"] = "at_start";
    json["states"].push_back(s);
  };
  if (!isWhole) {
    json["slot_bytes"] = {{"whole", align(keptBytes)}, {"from_input_gradient", align(keptBytes)}};
    state("kept.x", kept, keptBytes);
    json["states"].back()["holds"] = "x";
    state("made.gradients", gradients, keptBytes);
    json["states"].back()["holds"] = "gradients of x";
    state("sums", sumsAt, sums * 4);
    state("total", total, V * D * 4);
  }
  // Inputs of a step, by what takes them.
  auto array = [&](const char *fill, int64_t offset) {
    return isWhole ? filled(buffer(fill, "i32", {M, R, S}, {M, Rl, S}, {none, overRows, none}, offset), fill)
                   : filled(buffer(fill, "i32", {R, S}, {Rl, S}, {overRows, none}, offset), fill);
  };
  const Json tokenIds = array("token_ids", tokens), atPositions = array("positions", positions),
             atTargets = array("targets", targets), tokenWeight = filled(number("w", weight), "token_weight");
  Json forwardInputs = none, backwardInputs = none, numberInputs = none;
  for (Json *list : {&forwardInputs, &backwardInputs})
    for (const Json &input : {tokenIds, atPositions, atTargets, tokenWeight})
      list->push_back(input);
  for (int i = 0; i < Numbers; ++i)
    numberInputs.push_back(filled(number(numberNames[i], numbers + 64 * i), numberNames[i]));
  const Json lossOut = given(number("loss", loss), "loss"),
             normOut = given(number("norm", norm), "grad_norm");
  Json &all = json["entries"];
  if (isWhole) {
    Json inputs = forwardInputs;
    for (const Json &input : numberInputs)
      inputs.push_back(input);
    all.push_back(entry("train", nullptr, inputs, {lossOut, normOut}, true));
    all.push_back(entry("evaluate", nullptr, forwardInputs, Json::array({lossOut}), false));
    entries = Entries<0>::whole();
  } else {
    const std::string before = broken == "name" && isLast ? "y" : "x";
    forwardInputs.push_back(filled(number("micro", micro, "i32"), "micro_batch"));
    forwardInputs.push_back(filled(number("first", firstLayer, "i32"), "first_layer"));
    Json sent = none, sentGradients = none, sharedOut = none, sharedIn = none, sumsOut = none, sumsIn = none;
    if (!isFirst) {
      forwardInputs.push_back(filled(values(before, received), "received"));
      sentGradients.push_back(given(values("grad." + before, sentGradient), "sent_gradient"));
    }
    if (recomputes)
      backwardInputs = forwardInputs;
    if (!isLast) {
      backwardInputs.push_back(filled(values("grad.x", receivedGradient), "received_gradient"));
      sent.push_back(given(values("x", this->sent), "sent"));
      if (broken == "nobody")
        sent.push_back(given(values("z", this->sent), "sent"));
    }
    const bool shares = (isFirst || isLast) && !(broken == "shared" && isLast);
    if (shares) {
      sharedOut.push_back(
          given(buffer("shared.table", "f32", {V, D}, {V, D}, {none, none}, shared), "shared_gradient"));
      sharedIn.push_back(filled(buffer("shared.table", "f32", {V, D}, {V, D}, {none, none}, otherShared),
                                "shared_gradient"));
    }
    sumsOut.push_back(given(number("sum.norm_squared", squares), "stage_sum"));
    sumsIn.push_back(filled(number("sum.norm_squared", allSquares), "stage_sum"));
    if (isLast)
      sumsOut.push_back(given(number("sum.loss", lossSum), "stage_sum"));
    sumsIn.push_back(filled(number("sum.loss", allLoss), "stage_sum"));
    Json updateInputs = sumsIn;
    for (const Json &input : numberInputs)
      updateInputs.push_back(input);
    all.push_back(entry("train", "begin", none, none, false));
    all.push_back(entry("train", "forward", forwardInputs, sent, false));
    if (inTwo()) {
      all.push_back(entry("train", "input_gradient", backwardInputs, sentGradients, false));
      Json inputs = none;
      for (const Json &input : {tokenIds, atTargets, tokenWeight})
        inputs.push_back(input);
      all.push_back(entry("train", "weight_gradient", inputs, none, false));
    } else {
      all.push_back(entry("train", "backward", backwardInputs, sentGradients, false));
    }
    all.push_back(entry("train", "share", none, sharedOut, false));
    all.push_back(entry("train", "sum", sharedIn, sumsOut, false));
    all.push_back(entry("train", "update", updateInputs, {lossOut, normOut}, true));
    all.push_back(entry("evaluate", "begin", none, none, false));
    all.push_back(entry("evaluate", "forward", forwardInputs, sent, false));
    all.push_back(entry("evaluate", "sum", none, sumsOut, false));
    all.push_back(entry("evaluate", "update", sumsIn, Json::array({lossOut}), false));
    if (isFirst && setting("FAKE_DROPS", "0") == "1")
      addDropout(all);
    auto take = [&](auto of) { entries = inTwo() ? of.apart() : of.together(); };
    index == 0   ? take(Entries<0>())
    : index == 1 ? take(Entries<1>())
    : index == 2 ? take(Entries<2>())
                 : take(Entries<3>());
  }
  // The parts of the step with dropout do what those without do.
  for (size_t i = 0, steps = all.size() - entries.size(); i < steps; ++i)
    entries.push_back(entries[i]);
  manifest = json.dump();
  program = {TESSERA_ABI_VERSION, uint32_t(entries.size()), uint32_t(kernels.size()),
             manifest.data(),     manifest.size(),          entries.data(),
             kernels.data()};
}

// A step with dropout beside the one without, behind all entries.
void Program::addDropout(Json &all) const {
  const Json without = all;
  for (Json e : without) {
    if (e["role"] != "train")
      continue;
    e["name"] = "dropout_" + e["name"].get<std::string>();
    e["role"] = "train_dropout";
    if (e["stage_part"] == "forward") {
      e["inputs"].push_back(filled(number("key", key, "i64"), "dropout_key"));
      e["inputs"].push_back(filled(number("share", share), "dropout"));
    }
    all.push_back(e);
  }
}

std::string wholeManifest;
std::vector<const ts_program *> stagePrograms;

ts_program make() {
  const std::vector<int64_t> layers = stageLayers();
  if (layers.size() == 1) {
    programs[0].layers = layers[0];
    programs[0].make(0);
    return programs[0].program;
  }
  // Stages that differ in nothing but which layers they have are one program.
  Json stages = none;
  std::vector<int64_t> made;
  int64_t first = 0;
  for (size_t s = 0; s < layers.size(); ++s) {
    const bool isFirst = s == 0, isLast = s + 1 == layers.size();
    size_t number = 0;
    while (number < made.size() &&
           !(programs[number].layers == layers[s] && programs[number].isFirst == isFirst &&
             programs[number].isLast == isLast))
      ++number;
    if (number == made.size()) {
      Program &p = programs[number];
      p.layers = layers[s];
      p.isFirst = isFirst;
      p.isLast = isLast;
      p.isWhole = false;
      p.make(int64_t(number));
      made.push_back(layers[s]);
      stagePrograms.push_back(&p.program);
    }
    stages.push_back(
        {{"program", number}, {"first_layer", first}, {"layers", layers[s]}, {"at", lists().rankOfStage[s]}});
    first += layers[s];
  }
  Json texts = none;
  for (const schedule::ActionList &list : lists().ranks)
    texts.push_back(schedule::toString(list));
  if (broken == "list")
    texts[0] = "0F0 0B0";
  if (broken == "halves") {
    std::string text = texts[0];
    texts[0] = text.replace(text.find("0B0"), 3, "0I0 0W0");
  }
  Json json = top(pp);
  if (broken == "batch")
    json["train"]["batch"] = B - 1;
  json["pipeline"] = {{"axis", "pp"},
                      {"stages", stages},
                      {"schedule", setting("FAKE_SCHEDULE", "1f1b")},
                      {"lists", texts},
                      {"send_buffers", 2},
                      {"shared", {{{"parameter", "table"}, {"stages", {0, layers.size() - 1}}}}}};
  wholeManifest = json.dump();
  return {TESSERA_ABI_VERSION,
          0,
          0,
          wholeManifest.data(),
          wholeManifest.size(),
          nullptr,
          nullptr,
          nullptr,
          0,
          nullptr,
          0,
          stagePrograms.data(),
          stagePrograms.size()};
}

} // namespace

extern "C" const ts_program tessera_program = make();
