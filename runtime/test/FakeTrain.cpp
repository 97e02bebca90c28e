// A hand-written program that trains, in the form the compiler emits, for tests of the runtime: compiled with
// FAKE_RANKS.
//
// The model: logits of the next token = table[token] + bias, and more for the id that is its position; AdamW,
// decay of the table alone. Rows of the data, the table's rows and its moments over fsdp; the bias and its
// moments on every rank.
// In the environment FAKE_DELAY=MS makes every step take that long at least, FAKE_MOMENT=NAME names the first
// moment otherwise, and with FAKE_NO_GRADIENTS the manifest does not say that gradients are read from it.
#include "FakeTrainModel.h"
#include "tessera/runtime/abi.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

using namespace fake;

namespace {

constexpr int64_t ranks = FAKE_RANKS, Rl = (R + ranks - 1) / ranks, Vl = (V + ranks - 1) / ranks;
constexpr int64_t ids = M * Rl * S * 4; // bytes of one array of the data

constexpr int64_t align(int64_t n) { return (n + 63) / 64 * 64; }
constexpr int64_t tokensAt = 0, positionsAt = align(ids), targetsAt = 2 * align(ids),
                  numbersAt = 3 * align(ids); // of 64 bytes each
enum { TokenWeight, Rate, Decay, Beta1, Beta2, Epsilon, Clip, First, Second, Numbers };
constexpr int64_t tableAt = numbersAt + 64 * Numbers; // [ranks * Vl, V]
constexpr int64_t gradAt = tableAt + align(ranks * Vl * V * 4);
constexpr int64_t ownAt = gradAt + align(ranks * Vl * V * 4); // [Vl, V]
constexpr int64_t sharedAt = ownAt + align(Vl * V * 4);       // gradient of the bias, loss
constexpr int64_t squaresAt = sharedAt + align((V + 1) * 4);
constexpr int64_t lossAt = squaresAt + 64, normAt = lossAt + 64, arenaBytes = normAt + 64;

template <typename T> T *at(void *const *buffers, int i) { return static_cast<T *>(buffers[i]); }

// table, bias, tokens, positions, targets, token weight, gradient, shared.
void forwardKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  const float *table = at<float>(buffers, 0), *bias = at<float>(buffers, 1);
  float *grad = at<float>(buffers, 6), *shared = at<float>(buffers, 7);
  memset(grad, 0, ranks * Vl * V * 4);
  memset(shared, 0, (V + 1) * 4);
  double loss = 0, weight = *at<float>(buffers, 5);
  for (int64_t i = 0; i < M * Rl * S; ++i) {
    int32_t token = at<int32_t>(buffers, 2)[i], target = at<int32_t>(buffers, 4)[i];
    int32_t position = at<int32_t>(buffers, 3)[i];
    if (position < 0 || target < 0)
      continue;
    double p[V], sum = 0;
    for (int64_t v = 0; v < V; ++v)
      sum += p[v] = std::exp(double(table[token * V + v]) + bias[v] + ofPosition(position, v));
    loss -= weight * std::log(p[target] / sum);
    for (int64_t v = 0; v < V; ++v) {
      auto g = float(weight * (p[v] / sum - (v == target)));
      grad[token * V + v] += g;
      shared[v] += g;
    }
  }
  shared[V] = float(loss);
}

// own gradient -> squares.
void squaresKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  double sum = 0;
  for (int64_t i = 0; i < Vl * V; ++i)
    sum += double(at<float>(buffers, 0)[i]) * at<float>(buffers, 0)[i];
  *at<float>(buffers, 1) = float(sum);
}

// squares, shared -> loss, norm.
void finishKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  const float *shared = at<float>(buffers, 1);
  double sum = *at<float>(buffers, 0);
  for (int64_t v = 0; v < V; ++v)
    sum += double(shared[v]) * shared[v];
  *at<float>(buffers, 2) = shared[V];
  *at<float>(buffers, 3) = float(std::sqrt(sum));
}

// shared -> loss.
void lossKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  *at<float>(buffers, 1) = at<float>(buffers, 0)[V];
}

// weight, first moment, second moment, gradient, norm, numbers; scalars: elements, whether it decays.
void updateKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  auto number = [&](int i) { return double(at<float>(buffers, 5)[i * 16]); };
  double norm = *at<float>(buffers, 4), scale = 1;
  if (number(Clip) > 0)
    scale = std::min(1.0, number(Clip) / (norm + 1e-6));
  for (int64_t i = 0; i < scalars[0]; ++i) {
    float &w = at<float>(buffers, 0)[i], &m = at<float>(buffers, 1)[i], &v = at<float>(buffers, 2)[i];
    double g = scale * at<float>(buffers, 3)[i];
    m = float(number(Beta1) * m + (1 - number(Beta1)) * g);
    v = float(number(Beta2) * v + (1 - number(Beta2)) * g * g);
    double step = m * number(First) / (std::sqrt(v * number(Second)) + number(Epsilon));
    w = float(w - number(Rate) * (step + (scalars[1] ? number(Decay) * w : 0)));
  }
}

enum : int32_t { Forward, Squares, Finish, Loss, UpdateTable, UpdateBias };
constexpr int64_t tableBytes = ranks * Vl * V * 4, ownBytes = Vl * V * 4, sharedBytes = (V + 1) * 4;
constexpr ts_kernel_buffer forwardBuffers[] = {{tableBytes, TS_READ},  {V * 4, TS_READ},       {ids, TS_READ},
                                               {ids, TS_READ},         {ids, TS_READ},         {4, TS_READ},
                                               {tableBytes, TS_WRITE}, {sharedBytes, TS_WRITE}},
                           squaresBuffers[] = {{ownBytes, TS_READ}, {4, TS_WRITE}},
                           finishBuffers[] = {{4, TS_READ},
                                              {sharedBytes, TS_READ},
                                              {4, TS_WRITE},
                                              {4, TS_WRITE}},
                           lossBuffers[] = {{sharedBytes, TS_READ}, {4, TS_WRITE}},
                           tableBuffers[] = {{ownBytes, TS_UPDATE}, {ownBytes, TS_UPDATE},
                                             {ownBytes, TS_UPDATE}, {ownBytes, TS_READ},
                                             {4, TS_READ},          {64 * Numbers, TS_READ}},
                           biasBuffers[] = {{V * 4, TS_UPDATE}, {V * 4, TS_UPDATE}, {V * 4, TS_UPDATE},
                                            {V * 4, TS_READ},   {4, TS_READ},       {64 * Numbers, TS_READ}};
const ts_kernel kernels[] = {
    {"forward", forwardKernel, forwardBuffers, 8, 0},   {"squares", squaresKernel, squaresBuffers, 2, 0},
    {"finish", finishKernel, finishBuffers, 4, 0},      {"loss", lossKernel, lossBuffers, 2, 0},
    {"update_table", updateKernel, tableBuffers, 6, 2}, {"update_bias", updateKernel, biasBuffers, 6, 2}};

void forward(ts_rank *rank, char *a) {
  if (const char *delay = getenv("FAKE_DELAY"))
    usleep(useconds_t(atoi(delay)) * 1000);
  ts_collective(rank, 0, 0, rank->params[0], a + tableAt);
  void *buffers[] = {a + tableAt,     rank->params[1], a + tokensAt,
                     a + positionsAt, a + targetsAt,   a + numbersAt + 64 * TokenWeight,
                     a + gradAt,      a + sharedAt};
  ts_launch(rank, 0, Forward, buffers, nullptr, 1, 1);
  ts_collective(rank, 0, 2, a + sharedAt, a + sharedAt);
}

void train(ts_rank *rank, const ts_call *call) {
  char *a = call->base;
  forward(rank, a);
  ts_collective(rank, 0, 1, a + gradAt, a + ownAt);
  void *squares[] = {a + ownAt, a + squaresAt};
  ts_launch(rank, 0, Squares, squares, nullptr, 1, 1);
  ts_collective(rank, 0, 3, a + squaresAt, a + squaresAt);
  void *finish[] = {a + squaresAt, a + sharedAt, a + lossAt, a + normAt};
  ts_launch(rank, 0, Finish, finish, nullptr, 1, 1);
  void *table[] = {rank->params[0], rank->params[2], rank->params[3], a + ownAt, a + normAt, a + numbersAt};
  int64_t ofTable[] = {Vl * V, 1}, ofBias[] = {V, 0};
  ts_launch(rank, 0, UpdateTable, table, ofTable, 1, 1);
  void *bias[] = {rank->params[1], rank->params[4], rank->params[5], a + sharedAt, a + normAt, a + numbersAt};
  ts_launch(rank, 0, UpdateBias, bias, ofBias, 1, 1);
}

void evaluate(ts_rank *rank, const ts_call *call) {
  forward(rank, call->base);
  void *loss[] = {call->base + sharedAt, call->base + lossAt};
  ts_launch(rank, 0, Loss, loss, nullptr, 1, 1);
}

using Json = nlohmann::json;
const Json none = Json::array(), axes = ranks > 1 ? Json{{"fsdp", 1, ranks}} : Json::array();

Json buffer(const std::string &name, const char *dtype, Json shape, Json local, Json sharding,
            int64_t offset) {
  return {{"name", name},   {"dtype", dtype},       {"shape", shape},
          {"local", local}, {"sharding", sharding}, {"offset", offset}};
}

Json entry(const char *name, bool updates) {
  Json inputs = none, outputs = none;
  auto input = [&](const char *fill, Json what) {
    what["fill"] = fill;
    inputs.push_back(what);
  };
  auto array = [&](const char *fill, int64_t offset) {
    input(fill, buffer(fill, "i32", {M, R, S}, {M, Rl, S}, {none, axes, none}, offset));
  };
  array("token_ids", tokensAt);
  array("positions", positionsAt);
  array("targets", targetsAt);
  const char *numbers[] = {
      "token_weight", "learning_rate",    "weight_decay",     "beta1", "beta2", "epsilon",
      "clip",         "first_correction", "second_correction"};
  for (int i = 0; i < (updates ? Numbers : 1); ++i)
    input(numbers[i], buffer(numbers[i], "f32", none, none, none, numbersAt + 64 * i));
  auto output = [&](const char *gives, int64_t offset) {
    Json what = buffer(gives, "f32", none, none, none, offset);
    what["gives"] = gives;
    outputs.push_back(what);
  };
  output("loss", lossAt);
  Json collectives = {{{"id", 0}, {"executions", 1}}, {{"id", 2}, {"executions", 1}}};
  if (updates) {
    output("grad_norm", normAt);
    collectives.push_back({{"id", 1}, {"executions", 1}});
    collectives.push_back({{"id", 3}, {"executions", 1}});
  }
  Json all = {0, 1, 2, 3, 4, 5}, weights = {0, 1};
  return {{"name", name},
          {"role", name},
          {"inputs", inputs},
          {"outputs", outputs},
          {"params", {{"reads", updates ? all : weights}, {"updates", updates ? all : none}}},
          {"collectives", collectives}};
}

Json param(const char *name, bool isTable, const char *state) {
  Json shape = isTable ? Json{V, V} : Json{V};
  Json json = {{"name", name},
               {"dtype", "f32"},
               {"shape", shape},
               {"sharding", isTable ? Json{axes, none} : Json{none}},
               {"local", isTable ? Json{Vl, V} : Json{V}},
               {"variable", true},
               {"sources", {{{"name", isTable ? "table.weight" : "table.bias"}, {"shape", shape}}}}};
  if (state) {
    json["state"] = state;
    json["of"] = isTable ? 0 : 1;
  }
  return json;
}

Json collective(const char *kind, const char *op, int64_t elements, const char *why) {
  return {{"kind", kind}, {"op", op}, {"dtype", "f32"}, {"group", 0}, {"elements", elements}, {"why", why}};
}

std::string makeManifest() {
  const char *other = getenv("FAKE_MOMENT"), *moment = other ? other : "exp_avg";
  Json manifest = {{"version", 2},
                   {"task", "train"},
                   {"dtype", "f32"},
                   {"target", "cpu"},
                   {"model", "/dev/null"},
                   {"architecture", "fake"},
                   {"train",
                    {{"batch", B},
                     {"seq", S},
                     {"micro_batches", M},
                     {"vocab", V},
                     {"gradient_state", getenv("FAKE_NO_GRADIENTS") ? "" : moment}}},
                   {"mesh", ranks > 1 ? Json::array({Json::array({"fsdp", ranks})}) : none},
                   {"arena_bytes", arenaBytes},
                   {"params",
                    {param("table", true, nullptr), param("bias", false, nullptr),
                     param("exp_avg.table", true, moment), param("exp_avg_sq.table", true, "exp_avg_sq"),
                     param("exp_avg.bias", false, moment), param("exp_avg_sq.bias", false, "exp_avg_sq")}},
                   {"states", none},
                   {"matmuls", none},
                   {"groups", Json::array({axes})},
                   {"collectives",
                    {collective("all_gather", "none", Vl * V, "the table"),
                     collective("reduce_scatter", "sum", ranks * Vl * V, "the table's gradient"),
                     collective("all_reduce", "sum", V + 1, "the bias's gradient and the loss"),
                     collective("all_reduce", "sum", 1, "the norm")}},
                   {"entries", {entry("train", true), entry("evaluate", false)}}};
  return manifest.dump();
}

const std::string manifest = makeManifest();
const ts_entry_fn entries[] = {train, evaluate};

} // namespace

extern "C" const ts_program tessera_program = {TESSERA_ABI_VERSION, 2,       6,      manifest.data(),
                                               manifest.size(),     entries, kernels};
