// A hand-written program in the form the compiler emits, for tests of the runtime: compiled with FAKE_DP and
// FAKE_TP.
//
// The model: a context is remembered as the embeddings of its tokens; hidden(p) = scale * sum over j <= p of
// embedding(j) / (1 + p - j); logits = hidden . embedding^T (tied). Vocabulary over tp, batch over dp.
// FAKE_CPU=FEATURE: compiled for a CPU that has it. FAKE_TARGET=NAME: for another target.
// FAKE_FAULT=KIND:RANK in the environment makes one rank misbehave in its first decode step.
#include "FakeModel.h"
#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unistd.h>

using namespace fake;

namespace {

constexpr int64_t dp = FAKE_DP, tp = FAKE_TP;
constexpr int64_t Bl = (B + dp - 1) / dp, Vl = (V + tp - 1) / tp;

// Offsets in the arena, in bytes.
constexpr int64_t align(int64_t n) { return (n + 63) / 64 * 64; }
constexpr int64_t cacheAt = 0;
constexpr int64_t tokensAt = cacheAt + align(Bl * L * D * 4);
constexpr int64_t positionsAt = tokensAt + align(Bl * C * 4);
constexpr int64_t indexAt = positionsAt + align(Bl * C * 4);
constexpr int64_t embeddingAt = indexAt + align(Bl * 4);
constexpr int64_t hiddenAt = embeddingAt + align(Bl * C * D * 4);
constexpr int64_t pickedAt = hiddenAt + align(Bl * C * D * 4);
constexpr int64_t logitsAt = pickedAt + align(Bl * D * 4);
constexpr int64_t keyAt = logitsAt + align(Bl * Vl * 4);
constexpr int64_t nextAt = keyAt + align(Bl * 8);
constexpr int64_t gatheredAt = nextAt + align(Bl * 4);
constexpr int64_t drawnAt = gatheredAt + align(tp * Bl * Vl * 4);
constexpr int64_t promptsAt = drawnAt + align(Bl * 4);
constexpr int64_t startsAt = promptsAt + align(Bl * 4);
constexpr int64_t seedAt = startsAt + align(Bl * 4);
constexpr int64_t temperatureAt = seedAt + 64, topKAt = temperatureAt + 64, topPAt = topKAt + 64;
constexpr int64_t minPAt = topPAt + 64, penaltyAt = minPAt + 64, seenAt = penaltyAt + 64;
constexpr int64_t scoresAt = seenAt + align(Bl * Vl * 4), arenaBytes = scoresAt + align(Bl * Vl * 4);

template <typename T> T *at(void *const *buffers, int i) { return static_cast<T *>(buffers[i]); }

// cache, embedding, positions, scale, hidden; scalar: chunk length. One iteration a row.
void attendKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  int64_t chunk = scalars[0];
  for (int64_t b = begin; b < end; ++b)
    for (int64_t i = 0; i < chunk; ++i) {
      int32_t p = at<int32_t>(buffers, 2)[b * chunk + i];
      float *hidden = at<float>(buffers, 4) + (b * chunk + i) * D;
      memset(hidden, 0, D * 4);
      if (p < 0)
        continue;
      float *cache = at<float>(buffers, 0) + b * L * D;
      memcpy(cache + p * D, at<float>(buffers, 1) + (b * chunk + i) * D, D * 4);
      for (int64_t j = 0; j <= p; ++j)
        for (int64_t d = 0; d < D; ++d)
          hidden[d] += cache[j * D + d] / float(1 + p - j);
      for (int64_t d = 0; d < D; ++d)
        hidden[d] *= at<float>(buffers, 3)[d];
    }
}

// hidden, index, picked; scalars: chunk length, whether to look at the index.
void pickKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; ++b) {
    int64_t place = b * scalars[0] + (scalars[1] ? at<int32_t>(buffers, 1)[b] : 0);
    memcpy(at<float>(buffers, 2) + b * D, at<float>(buffers, 0) + place * D, D * 4);
  }
}

// logits, key; scalar: first id of this shard. A key orders like (value, lowest id), see graph.arg_max_key.
void keyKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; ++b) {
    int64_t best = INT64_MIN;
    for (int64_t v = 0; v < Vl && scalars[0] + v < V; ++v) {
      int32_t bits;
      memcpy(&bits, &at<float>(buffers, 0)[b * Vl + v], 4);
      int64_t order = bits < 0 ? bits ^ 0x7fffffff : bits;
      best = std::max(best, order * 4294967296 + (0x7fffffff - (scalars[0] + v)));
    }
    at<int64_t>(buffers, 1)[b] = best;
  }
}

// key, next.
void idKernel(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; ++b)
    at<int32_t>(buffers, 1)[b] = int32_t(0x7fffffff - (at<int64_t>(buffers, 0)[b] & 0xffffffff));
}

// logits, seen, penalty, scores.
void penalizeKernel(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  float penalty = *at<float>(buffers, 2);
  for (int64_t i = begin * Vl; i < end * Vl; ++i) {
    float logit = at<float>(buffers, 0)[i];
    float changed = logit > 0 ? logit / penalty : logit * penalty;
    at<float>(buffers, 3)[i] = at<int32_t>(buffers, 1)[i] ? changed : logit;
  }
}

// next, positions, starts, seen; scalar: first id of this shard.
void seeKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; ++b) {
    int64_t id = at<int32_t>(buffers, 0)[b] - scalars[0];
    if (at<int32_t>(buffers, 1)[b] >= 0 && at<int32_t>(buffers, 2)[b] >= 0 && id >= 0 && id < Vl)
      at<int32_t>(buffers, 3)[b * Vl + id] = 1;
  }
}

// scores of all shards of the vocabulary, positions, prompts, starts, seed, temperature, top-k, top-p, min-p,
// next.
void drawKernel(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  double temperature = *at<double>(buffers, 5), topP = *at<double>(buffers, 7),
         minP = *at<double>(buffers, 8);
  int32_t topK = *at<int32_t>(buffers, 6);
  for (int64_t b = begin; b < end; ++b) {
    std::vector<double> logits, weight;
    for (int64_t v = 0; v < V; ++v)
      logits.push_back(at<float>(buffers, 0)[(v / Vl * Bl + b) * Vl + v % Vl]);
    double top = *std::max_element(logits.begin(), logits.end());
    for (double logit : logits)
      weight.push_back(std::exp((logit - top) / temperature));
    std::vector<int32_t> ids(V);
    std::iota(ids.begin(), ids.end(), 0);
    if (topK > 0 || topP < 1 || minP > 0)
      std::sort(ids.begin(), ids.end(),
                [&](int32_t x, int32_t y) { return logits[x] != logits[y] ? logits[x] > logits[y] : x < y; });
    if (topK > 0)
      ids.resize(std::min<int64_t>(topK, V));
    auto mass = [&] {
      return std::accumulate(ids.begin(), ids.end(), 0.0,
                             [&](double sum, int32_t id) { return sum + weight[id]; });
    };
    for (double total = mass(), rest = total - weight[ids.back()]; ids.size() > 1 && rest >= topP * total;) {
      ids.pop_back();
      rest -= weight[ids.back()];
    }
    while (ids.size() > 1 && weight[ids.back()] < minP)
      ids.pop_back();
    int64_t count = at<int32_t>(buffers, 1)[b] - at<int32_t>(buffers, 3)[b];
    uint64_t bits =
        tessera::runtime::randomBits(*at<uint64_t>(buffers, 4), at<int32_t>(buffers, 2)[b], count);
    double target = double(bits >> 11) * 0x1p-53 * mass(), sum = 0;
    int32_t &next = at<int32_t>(buffers, 9)[b];
    for (int32_t id : ids) {
      next = id;
      if ((sum += weight[id]) > target)
        break;
    }
  }
}

enum : int32_t { Attend, Pick, Key, Id, Draw, Penalize, See };
constexpr ts_kernel_buffer attendBuffers[] = {{Bl * L * D * 4, TS_UPDATE},
                                              {Bl * D * 4, TS_READ},
                                              {Bl * 4, TS_READ},
                                              {D * 4, TS_READ},
                                              {Bl * D * 4, TS_UPDATE}},
                           pickBuffers[] = {{Bl * D * 4, TS_READ}, {Bl * 4, TS_READ}, {Bl * D * 4, TS_WRITE}},
                           keyBuffers[] = {{Bl * Vl * 4, TS_READ}, {Bl * 8, TS_WRITE}},
                           idBuffers[] = {{Bl * 8, TS_READ}, {Bl * 4, TS_WRITE}},
                           drawBuffers[] = {{tp * Bl * Vl * 4, TS_READ},
                                            {Bl * 4, TS_READ},
                                            {Bl * 4, TS_READ},
                                            {Bl * 4, TS_READ},
                                            {8, TS_READ},
                                            {8, TS_READ},
                                            {4, TS_READ},
                                            {8, TS_READ},
                                            {8, TS_READ},
                                            {Bl * 4, TS_WRITE}},
                           penalizeBuffers[] = {{Bl * Vl * 4, TS_READ},
                                                {Bl * Vl * 4, TS_READ},
                                                {4, TS_READ},
                                                {Bl * Vl * 4, TS_WRITE}},
                           seeBuffers[] = {{Bl * 4, TS_READ},
                                           {Bl * 4, TS_READ},
                                           {Bl * 4, TS_READ},
                                           {Bl * Vl * 4, TS_UPDATE}};
const ts_kernel kernels[] = {
    {"attend", attendKernel, attendBuffers, 5, 1}, {"pick", pickKernel, pickBuffers, 3, 2},
    {"key", keyKernel, keyBuffers, 2, 1},          {"id", idKernel, idBuffers, 2, 0},
    {"draw", drawKernel, drawBuffers, 10, 0},      {"penalize", penalizeKernel, penalizeBuffers, 4, 0},
    {"see", seeKernel, seeBuffers, 4, 1}};

void misbehave(ts_rank *rank, char *base) {
  const char *fault = getenv("FAKE_FAULT");
  if (!fault)
    return;
  std::string kind(fault, strcspn(fault, ":"));
  if (ts_group_index(rank, 1) * tp + ts_group_index(rank, 0) != atoi(fault + kind.size() + 1))
    return;
  if (kind == "throw")
    throw std::runtime_error("this rank was told to fail");
  if (kind == "crash")
    raise(SIGSEGV);
  if (kind == "kill")
    raise(SIGKILL);
  if (kind == "stop")
    raise(SIGSTOP);
  if (kind == "exit")
    _exit(0);
  if (kind == "stall")
    for (;;)
      sleep(100);
}

void tail(ts_rank *rank, char *a, int64_t chunk, bool useIndex) {
  void *pick[] = {a + hiddenAt, a + indexAt, a + pickedAt};
  int64_t pickScalars[] = {chunk, useIndex};
  ts_launch(rank, 0, Pick, pick, pickScalars, Bl, 1);
  ts_matmul(rank, 0, 0, 0, a + pickedAt, nullptr, a + logitsAt, nullptr, nullptr);
  int64_t first = ts_group_index(rank, 0) * Vl;
  void *key[] = {a + logitsAt, a + keyAt};
  ts_launch(rank, 0, Key, key, &first, Bl, 1);
  ts_collective(rank, 0, 2, a + keyAt, a + keyAt);
  void *id[] = {a + keyAt, a + nextAt};
  ts_launch(rank, 0, Id, id, nullptr, Bl, 1);
}

void body(ts_rank *rank, char *a, int64_t chunk, int32_t allReduce) {
  ts_gather_packed(rank, 0, 0, 0, reinterpret_cast<int32_t *>(a + tokensAt), ts_group_index(rank, 0) * Vl,
                   Bl * chunk, reinterpret_cast<float *>(a + embeddingAt));
  ts_collective(rank, 0, allReduce, a + embeddingAt, a + embeddingAt);
  void *attend[] = {a + cacheAt, a + embeddingAt, a + positionsAt, rank->params[1], a + hiddenAt};
  ts_launch(rank, 0, Attend, attend, &chunk, Bl, 1);
}

void prefill(ts_rank *rank, const ts_call *call) {
  body(rank, call->base, C, 0);
  tail(rank, call->base, C, true);
}
void decode(ts_rank *rank, const ts_call *call) {
  misbehave(rank, call->base);
  body(rank, call->base, 1, 1);
  tail(rank, call->base, 1, false);
}
void head(ts_rank *rank, const ts_call *call) {
  tail(rank, call->base, C, true);
  // A step may use the space of its inputs.
  ts_copy(rank, 0, call->base + hiddenAt, call->base + embeddingAt, Bl * C * D * 4);
}

void sample(ts_rank *rank, const ts_call *call) {
  char *a = call->base;
  void *penalize[] = {a + logitsAt, a + seenAt, a + penaltyAt, a + scoresAt};
  ts_launch(rank, 0, Penalize, penalize, nullptr, Bl, 1);
  ts_collective(rank, 0, 3, a + scoresAt, a + gatheredAt);
  void *draw[] = {a + gatheredAt,    a + drawnAt, a + promptsAt, a + startsAt, a + seedAt,
                  a + temperatureAt, a + topKAt,  a + topPAt,    a + minPAt,   a + nextAt};
  ts_launch(rank, 0, Draw, draw, nullptr, Bl, 1);
  int64_t first = ts_group_index(rank, 0) * Vl;
  void *see[] = {a + nextAt, a + drawnAt, a + startsAt, a + seenAt};
  ts_launch(rank, 0, See, see, &first, Bl, 1);
}

using Json = nlohmann::json;
const Json dpAxes = dp > 1 ? Json{{"dp", 1, dp}} : Json::array(), tpAxes = tp > 1 ? Json{{"tp", 1, tp}}
                                                                                  : Json::array();

Json buffer(const char *name, const char *dtype, std::vector<int64_t> shape, std::vector<int64_t> local,
            Json lastAxes, int64_t offset) {
  Json sharding = Json::array();
  for (size_t d = 0; d < shape.size(); ++d)
    sharding.push_back(d == 0 ? dpAxes : d + 1 == shape.size() ? lastAxes : Json::array());
  return {{"name", name},   {"dtype", dtype},       {"shape", shape},
          {"local", local}, {"sharding", sharding}, {"offset", offset}};
}

const Json none = Json::array();

Json with(Json object, const char *field, Json value) {
  object[field] = std::move(value);
  return object;
}

// An entry that makes logits.
Json makeStep(const char *name, const char *role, int64_t chunk, bool index) {
  Json entry = {{"name", name}, {"role", role}, {"inputs", none}, {"outputs", none}, {"collectives", none}};
  entry["params"] = {{"reads", strcmp(name, "head") == 0 ? Json{0} : Json{0, 1}}, {"updates", none}};
  entry["states"] = strcmp(name, "head") == 0 ? Json{{"reads", none}, {"writes", none}}
                                              : Json{{"reads", {0}}, {"writes", {0}}};
  if (strcmp(name, "head") == 0) {
    entry["inputs"].push_back(with(buffer("hidden", "f32", {B, C, D}, {Bl, C, D}, none, hiddenAt), "fill",
                                   {{"entry", 0}, {"output", 0}}));
  } else {
    entry["inputs"].push_back(
        with(buffer("ids", "i32", {B, chunk}, {Bl, chunk}, none, tokensAt), "fill", "token_ids"));
    entry["inputs"].push_back(
        with(buffer("places", "i32", {B, chunk}, {Bl, chunk}, none, positionsAt), "fill", "positions"));
    entry["collectives"].push_back({{"id", chunk == 1 ? 1 : 0}, {"executions", 1}});
  }
  entry["collectives"].push_back({{"id", 2}, {"executions", 1}});
  if (index)
    entry["inputs"].push_back(with(buffer("at", "i32", {B}, {Bl}, none, indexAt), "fill", "last_index"));
  if (strcmp(name, "prefill") == 0)
    entry["outputs"].push_back(buffer("hidden", "f32", {B, C, D}, {Bl, C, D}, none, hiddenAt));
  entry["outputs"].push_back(
      with(buffer("scores", "f32", {B, 1, V}, {Bl, 1, Vl}, tpAxes, logitsAt), "gives", "logits"));
  entry["outputs"].push_back(
      with(buffer("best", "i32", {B, 1}, {Bl, 1}, none, nextAt), "gives", "next_tokens"));
  return entry;
}

// The entry that draws tokens.
Json makeDraw() {
  return {{"name", "sample"},
          {"role", "draw"},
          {"inputs",
           {with(buffer("scores", "f32", {B, 1, V}, {Bl, 1, Vl}, tpAxes, logitsAt), "fill", "logits"),
            with(buffer("drawn", "i32", {B, 1}, {Bl, 1}, none, drawnAt), "fill", "positions")}},
          {"outputs", {with(buffer("best", "i32", {B, 1}, {Bl, 1}, none, nextAt), "gives", "next_tokens")}},
          {"states", {{"reads", {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {"writes", {9}}}},
          {"collectives", {{{"id", 3}, {"executions", 1}}}}};
}

Json makeParameters() {
  Json embedding = {{"name", "embedding"},
                    {"dtype", "f32"},
                    {"layers", 0},
                    {"shape", {V, D}},
                    {"sharding", {tpAxes, none}},
                    {"layer_sharding", none},
                    {"local", {Vl, D}},
                    {"sources",
                     {{{"name", "embed.weight"},
                       {"shape", {V, D}},
                       {"reshape", {V, D}},
                       {"slice", {{0, V}, {0, D}}},
                       {"permute", {0, 1}}}}},
                    {"pack", {{"out_dims", 1}}}};
  Json scale = {{"name", "scale"},
                {"dtype", "f32"},
                {"layers", 0},
                {"shape", {D}},
                {"sharding", {none}},
                {"local", {D}},
                {"sources", {{{"name", "scale.weight"}, {"shape", {D}}}}},
                {"mean", 1},
                {"pack", nullptr}};
  return {embedding, scale};
}

// The cache, and what a run is told of how to draw.
Json makeStates() {
  auto setting = [&](const char *name, const char *dtype, bool rows, int64_t offset) {
    Json state =
        rows ? buffer(name, dtype, {B, 1}, {Bl, 1}, none, offset) : buffer(name, dtype, {}, {}, none, offset);
    state["clear"] = "at_start";
    return with(with(state, "fill", name), "bytes", rows ? Bl * 4 : dtype[1] == '3' ? 4 : 8);
  };
  Json cache = buffer("cache", "f32", {B, L, D}, {Bl, L, D}, none, cacheAt);
  cache["bytes"] = Bl * L * D * 4;
  cache["clear"] = "before_prompts";
  Json seen = buffer("seen", "i32", {B, 1, V}, {Bl, 1, Vl}, tpAxes, seenAt);
  seen["bytes"] = Bl * Vl * 4;
  seen["clear"] = "at_start";
  seen["fill"] = "seen_tokens";
  return {cache,
          setting("prompt_numbers", "i32", true, promptsAt),
          setting("prompt_lengths", "i32", true, startsAt),
          setting("seed", "i64", false, seedAt),
          setting("temperature", "f64", false, temperatureAt),
          setting("top_k", "i32", false, topKAt),
          setting("top_p", "f64", false, topPAt),
          setting("min_p", "f64", false, minPAt),
          setting("repeat_penalty", "f32", false, penaltyAt),
          seen};
}

Json makeCollectives() {
  auto collective = [&](const char *op, const char *dtype, int64_t elements, const char *why) {
    return Json{{"kind", "all_reduce"}, {"op", op},  {"dtype", dtype}, {"group", 0},
                {"elements", elements}, {"why", why}};
  };
  return {
      collective("sum", "f32", Bl * C * D, "rows of the embedding"),
      collective("sum", "f32", Bl * D, "rows of the embedding"),
      collective("max", "i64", Bl, "the likeliest token"),
      Json{
          {"kind", "all_gather"}, {"dtype", "f32"}, {"group", 0}, {"elements", Bl * Vl}, {"why", "drawing"}}};
}

std::string makeManifest() {
  Json mesh = none;
  if (dp > 1)
    mesh.push_back({"dp", dp});
  if (tp > 1)
    mesh.push_back({"tp", tp});
  Json manifest = {
      {"version", 2},
      {"task", "generate"},
      {"dtype", "f32"},
      {"target", "cpu"},
      {"model", "/nonexistent/model"},
      {"architecture", "fake"},
      {"generate", {{"batch", B}, {"max_seq_len", L}, {"chunk", C}, {"vocab", V}, {"eos", {endToken}}}},
      {"mesh", mesh},
      {"arena_bytes", arenaBytes},
      {"params", makeParameters()},
      {"states", makeStates()},
      {"matmuls",
       {{{"m", Bl},
         {"n", Vl},
         {"k", D},
         {"param", 0},
         {"x", "f32"},
         {"w", "f32"},
         {"y", "f32"},
         {"sum", "f32"}}}},
      {"groups", {tpAxes, dpAxes}},
      {"collectives", makeCollectives()},
      {"entries",
       {makeStep("prefill", "prompt", C, true), makeStep("decode", "next", 1, false),
        makeStep("head", "logits", C, true), makeDraw()}}};
  if (const char *target = getenv("FAKE_TARGET")) {
    manifest["target"] = target;
    manifest[target] = {{"of", target}};
  }
  if (const char *feature = getenv("FAKE_CPU"))
    manifest["cpu"] = {{"name", "other"}, {"features", {"pni", feature}}};
  return manifest.dump();
}

const std::string manifest = makeManifest();
const ts_entry_fn entries[] = {prefill, decode, head, sample};

} // namespace

extern "C" const ts_program tessera_program = {TESSERA_ABI_VERSION, 4,       7,      manifest.data(),
                                               manifest.size(),     entries, kernels};
