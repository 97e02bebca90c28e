// The model of the fake pipeline (FakePipeline.cpp): its sizes, which the environment gives in part, and the
// kernels of its steps. Sums are added up by the same code in the same order however the layers are cut, so
// that numbers are the same bits.
//
// x = table[token] + what position and micro-batch add; layer l of the model: x = x (1 + scale[l]) + l / 8;
// logits = x . table + bias (the table is tied: the first and the last stage have it). AdamW.
#ifndef TESSERA_RUNTIME_TEST_FAKEPIPELINEMODEL_H
#define TESSERA_RUNTIME_TEST_FAKEPIPELINEMODEL_H

#include "tessera/runtime/abi.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

// Vocabulary, and the width of x; rows of a step, micro-batches, rows of one, tokens of a row.
constexpr int64_t V = 11, D = 8, B = 7, M = 4, R = 2, S = 6;

std::string setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}
const int64_t pp = atoi(setting("FAKE_PP", "1").c_str()), dp = atoi(setting("FAKE_DP", "1").c_str());
const bool recomputes = setting("FAKE_RECOMPUTE", "0") == "1";
const std::string broken = setting("FAKE_BREAK", "");
const int64_t Rl = (R + dp - 1) / dp;    // rows of a rank
const int64_t ids = Rl * S, X = ids * D; // places and elements of a micro-batch
constexpr int64_t align(int64_t n) { return (n + 63) / 64 * 64; }

std::vector<int64_t> stageLayers() {
  std::vector<int64_t> layers;
  std::istringstream text(setting("FAKE_STAGES", "5"));
  for (std::string word; std::getline(text, word, ',');)
    layers.push_back(atoi(word.c_str()));
  return layers;
}

//===- Kernels: `at` names buffers by number -===//

template <typename T> T *at(void *const *buffers, int i) { return static_cast<T *>(buffers[i]); }

// Of all kernels that work on a micro-batch: layers of the stage, whether it is the first, the last.
struct Sizes {
  int64_t layers, first, last;
  explicit Sizes(const int64_t *scalars) : layers(scalars[0]), first(scalars[1]), last(scalars[2]) {}
};
// Where the sums of gradients are among `sums`, which every stage has all of.
const int64_t lookupsAt = 0, headAt = V * D, biasAt = 2 * V * D, lossAt = biasAt + V, scalesAt = lossAt + 1;

void zeroKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  memset(buffers[0], 0, size_t(scalars[0]) * 4);
}

// tokens, positions, micro-batch, first layer, received, table, scales -> kept [layers + 1][X].
void forwardKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  const Sizes size(scalars);
  float *x = at<float>(buffers, 7);
  // A whole step says which micro-batch it is; a stage is told.
  const bool isWhole = scalars[3] >= 0;
  const int32_t micro = isWhole ? int32_t(scalars[3]) : *at<int32_t>(buffers, 2),
                firstLayer = isWhole ? 0 : *at<int32_t>(buffers, 3);
  for (int64_t i = 0; i < X; ++i)
    x[i] = size.first ? at<float>(buffers, 5)[at<int32_t>(buffers, 0)[i / D] * D + i % D] +
                            0.0625f * float(micro) + 0.03f * float(at<int32_t>(buffers, 1)[i / D])
                      : at<float>(buffers, 4)[i];
  for (int64_t l = 0; l < size.layers; ++l, x += X)
    for (int64_t i = 0; i < X; ++i)
      x[X + i] = x[i] * (1 + at<float>(buffers, 6)[l * D + i % D]) + 0.125f * float(firstLayer + l);
}

// The probabilities of a place's next token.
void softmax(const float *x, const float *table, const float *bias, double *p) {
  double sum = 0;
  for (int64_t v = 0; v < V; ++v) {
    double logit = bias[v];
    for (int64_t d = 0; d < D; ++d)
      logit += double(x[d]) * table[v * D + d];
    sum += p[v] = std::exp(logit);
  }
  for (int64_t v = 0; v < V; ++v)
    p[v] /= sum;
}

// x, targets, weight, table, bias -> sums (the loss).
void lossKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  double loss = 0, p[V];
  for (int64_t i = 0; i < ids; ++i) {
    int32_t target = at<int32_t>(buffers, 1)[i];
    if (target < 0)
      continue;
    softmax(at<float>(buffers, 0) + i * D, at<float>(buffers, 3), at<float>(buffers, 4), p);
    loss -= double(*at<float>(buffers, 2)) * std::log(p[target]);
  }
  at<float>(buffers, 5)[lossAt] += float(loss);
}

// kept, received gradient, targets, weight, table, bias, scales -> gradients [layers + 1][X] of kept.
void inputGradientKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  const Sizes size(scalars);
  const float *x = at<float>(buffers, 0) + size.layers * X, *table = at<float>(buffers, 4);
  float *dx = at<float>(buffers, 7) + size.layers * X;
  for (int64_t i = 0; i < ids; ++i) {
    double p[V];
    int32_t target = at<int32_t>(buffers, 2)[i];
    if (size.last && target >= 0)
      softmax(x + i * D, table, at<float>(buffers, 5), p);
    for (int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (int64_t v = 0; size.last && target >= 0 && v < V; ++v)
        sum += double(*at<float>(buffers, 3)) * (p[v] - (v == target)) * table[v * D + d];
      dx[i * D + d] = size.last ? float(sum) : at<float>(buffers, 1)[i * D + d];
    }
  }
  for (int64_t l = size.layers; l-- > 0; dx -= X)
    for (int64_t i = 0; i < X; ++i)
      dx[i - X] = dx[i] * (1 + at<float>(buffers, 6)[l * D + i % D]);
}

// kept, gradients, tokens, targets, weight, table, bias -> sums.
void weightGradientKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  const Sizes size(scalars);
  const float *x = at<float>(buffers, 0), *dx = at<float>(buffers, 1);
  float *sums = at<float>(buffers, 7);
  for (int64_t i = 0; size.first && i < X; ++i)
    sums[lookupsAt + at<int32_t>(buffers, 2)[i / D] * D + i % D] += dx[i];
  for (int64_t l = 0; l < size.layers; ++l)
    for (int64_t i = 0; i < X; ++i)
      sums[scalesAt + l * D + i % D] += dx[(l + 1) * X + i] * x[l * X + i];
  for (int64_t i = 0; size.last && i < ids; ++i) {
    double p[V];
    int32_t target = at<int32_t>(buffers, 3)[i];
    if (target < 0)
      continue;
    const float *last = x + size.layers * X + i * D;
    softmax(last, at<float>(buffers, 5), at<float>(buffers, 6), p);
    for (int64_t v = 0; v < V; ++v) {
      double g = double(*at<float>(buffers, 4)) * (p[v] - (v == target));
      sums[biasAt + v] += float(g);
      for (int64_t d = 0; d < D; ++d)
        sums[headAt + v * D + d] += float(g * last[d]);
    }
  }
}

// sums, gradient of the other stage's table -> gradient of the table, sum of squares.
void sumKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  const Sizes size(scalars);
  const float *sums = at<float>(buffers, 0);
  double squares = 0;
  for (int64_t i = 0; i < V * D; ++i) {
    float lookups = size.first ? sums[lookupsAt + i] : at<float>(buffers, 1)[i],
          head = size.last ? sums[headAt + i] : at<float>(buffers, 1)[i];
    float total = size.first || size.last ? lookups + head : 0;
    at<float>(buffers, 2)[i] = total;
    squares += size.first ? double(total) * total : 0;
  }
  for (int64_t v = 0; size.last && v < V; ++v)
    squares += double(sums[biasAt + v]) * sums[biasAt + v];
  for (int64_t i = scalesAt; i < scalesAt + size.layers * D; ++i)
    squares += double(sums[i]) * sums[i];
  *at<float>(buffers, 3) = float(squares);
}

// sum of losses, sum of squares -> loss, norm.
void finishKernel(void *const *buffers, const int64_t *, int64_t, int64_t) {
  *at<float>(buffers, 2) = *at<float>(buffers, 0);
  *at<float>(buffers, 3) = std::sqrt(*at<float>(buffers, 1));
}

enum { Rate, Decay, Beta1, Beta2, Epsilon, Clip, First, Second, Numbers };
const char *const numberNames[] = {
    "learning_rate",    "weight_decay",     "beta1", "beta2", "epsilon", "clip",
    "first_correction", "second_correction"};

// weight, first moment, second moment, gradients, norm, numbers; scalars: elements, first of the gradients.
void updateKernel(void *const *buffers, const int64_t *scalars, int64_t, int64_t) {
  auto number = [&](int i) { return double(at<float>(buffers, 5)[i * 16]); };
  double norm = *at<float>(buffers, 4), scale = 1;
  if (number(Clip) > 0)
    scale = std::min(1.0, number(Clip) / (norm + 1e-6));
  for (int64_t i = 0; i < scalars[0]; ++i) {
    float &w = at<float>(buffers, 0)[i], &m = at<float>(buffers, 1)[i], &v = at<float>(buffers, 2)[i];
    double g = scale * at<float>(buffers, 3)[scalars[1] + i];
    m = float(number(Beta1) * m + (1 - number(Beta1)) * g);
    v = float(number(Beta2) * v + (1 - number(Beta2)) * g * g);
    double step = m * number(First) / (std::sqrt(v * number(Second)) + number(Epsilon));
    w = float(w - number(Rate) * (step + number(Decay) * w));
  }
}

enum : int32_t {
  Zero,
  Forward,
  Loss,
  InputGradient,
  WeightGradient,
  Sum,
  Finish,
  UpdateTable,
  UpdateBias,
  UpdateScales,
  Kernels
};

//===- A program, and the calls of its entries -===//

struct Layout {
  int64_t layers = 0;
  bool isFirst = true, isLast = true, isWhole = true;
  // Parameters by number, -1: none. Behind each its moments.
  int table = -1, bias = -1, scales = -1;
  int64_t sums = 0; // elements
  // Offsets. In slots: kept, of the whole backward, and gradients, which are there from I on.
  int64_t kept = 0, gradients = 0;
  int64_t sumsAt = 0, total = 0, tokens = 0, positions = 0, targets = 0, weight = 0, micro = 0,
          firstLayer = 0, received = 0, receivedGradient = 0, sent = 0, sentGradient = 0, shared = 0,
          otherShared = 0, lossSum = 0, squares = 0, allLoss = 0, allSquares = 0, numbers = 0, loss = 0,
          norm = 0, key = 0, share = 0, arena = 0;
};

// A call of a kernel: buffers in the arena, in the slot, or of parameters.
struct Calls {
  ts_rank *rank;
  const Layout &p;
  char *base, *kept, *gradients; // the latter two in slots
  void launch(int32_t kernel, std::vector<void *> buffers, int64_t m = 0) const {
    int64_t scalars[] = {p.layers, p.isFirst, p.isLast, p.isWhole ? m : -1};
    ts_launch(rank, 0, kernel, buffers.data(), scalars, 1, 1);
  }
  void *param(int number) const { return number < 0 ? base + p.weight : rank->params[number]; }

  void begin() const {
    void *sums[] = {base + p.sumsAt};
    ts_launch(rank, 0, Zero, sums, &p.sums, 1, 1);
  }
  // `m`: of a whole step, whose inputs are those of all micro-batches.
  void forward(int64_t m) const {
    const int64_t of = m * ids * 4;
    launch(Forward,
           {base + p.tokens + of, base + p.positions + of, base + p.micro, base + p.firstLayer,
            base + p.received, param(p.table), param(p.scales), kept},
           m);
    char *last = kept + p.layers * X * 4;
    if (p.isLast)
      launch(Loss,
             {last, base + p.targets + of, base + p.weight, param(p.table), param(p.bias), base + p.sumsAt});
    else
      ts_copy(rank, 0, base + p.sent, last, X * 4);
  }
  void inputGradient(int64_t m) const {
    if (recomputes)
      launch(Forward,
             {base + p.tokens + m * ids * 4, base + p.positions + m * ids * 4, base + p.micro,
              base + p.firstLayer, base + p.received, param(p.table), param(p.scales), kept},
             m);
    launch(InputGradient, {kept, base + p.receivedGradient, base + p.targets + m * ids * 4, base + p.weight,
                           param(p.table), param(p.bias), param(p.scales), gradients});
    if (!p.isFirst)
      ts_copy(rank, 0, base + p.sentGradient, gradients, X * 4);
  }
  void weightGradient(int64_t m) const {
    const int64_t of = m * ids * 4;
    launch(WeightGradient, {kept, gradients, base + p.tokens + of, base + p.targets + of, base + p.weight,
                            param(p.table), param(p.bias), base + p.sumsAt});
  }
  void share() const {
    ts_collective(rank, 0, 0, base + p.sumsAt, base + p.sumsAt); // over the rows' ranks
    if (p.isFirst != p.isLast)
      ts_copy(rank, 0, base + p.shared, base + p.sumsAt + (p.isFirst ? lookupsAt : headAt) * 4, V * D * 4);
  }
  void sum() const {
    launch(Sum, {base + p.sumsAt, base + p.otherShared, base + p.total, base + p.squares});
    ts_copy(rank, 0, base + p.lossSum, base + p.sumsAt + lossAt * 4, 4);
  }
  void update(bool updates) const {
    launch(Finish, {base + p.allLoss, base + p.allSquares, base + p.loss, base + p.norm});
    auto weights = [&](int32_t kernel, int number, char *gradients, int64_t count, int64_t first) {
      void *buffers[] = {rank->params[number], rank->params[number + 1], rank->params[number + 2], gradients,
                         base + p.norm,        base + p.numbers};
      int64_t scalars[] = {count, first};
      ts_launch(rank, 0, kernel, buffers, scalars, 1, 1);
    };
    if (!updates)
      return;
    if (p.table >= 0)
      weights(UpdateTable, p.table, base + p.total, V * D, 0);
    if (p.bias >= 0)
      weights(UpdateBias, p.bias, base + p.sumsAt, V, biasAt);
    if (p.scales >= 0)
      weights(UpdateScales, p.scales, base + p.sumsAt, p.layers * D, scalesAt);
  }
  void whole(bool updates) const {
    begin();
    for (int64_t m = 0; m < M; ++m) {
      forward(m);
      if (!updates)
        continue;
      inputGradient(m);
      weightGradient(m);
    }
    share();
    sum();
    ts_copy(rank, 0, base + p.allLoss, base + p.lossSum, 4);
    ts_copy(rank, 0, base + p.allSquares, base + p.squares, 4);
    update(updates);
  }
};

} // namespace
#endif
