//===- Judge.cpp - Random inputs and comparison ---------------------------===//
#include "tessera/Reference/Judge.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace mlir;
using namespace tessera;

/// The row of a table of pages that begins with element `begin`: every page at another's place.
static void drawPages(ReferenceTensor &table, int64_t begin, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> places(size_t(table.shape.back()));
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  for (size_t j = 0; j < places.size(); ++j)
    table.i[size_t(begin) + j] = places[j] - int64_t(j);
}

ReferenceTensor tessera::randomPages(RankedTensorType type, uint64_t seed) {
  ReferenceTensor table(type.getElementType(), dist::globalShape(type));
  for (int64_t begin = 0; begin < int64_t(table.i.size()); begin += table.shape.back())
    drawPages(table, begin, seed++);
  return table;
}

std::vector<ReferenceTensor> tessera::randomInputs(func::FuncOp func, uint64_t seed) {
  std::mt19937_64 random(seed * 2 + 1);
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  auto uniform = [&]() { return double(random() >> 11) * 0x1p-52 - 1; };
  // Few and low ids are those of control tokens, on which a trained model is at its worst conditioned.
  auto module = func->getParentOfType<ModuleOp>();
  auto generate =
      module ? module->getAttrOfType<graph::GenerateAttr>(graph::kGenerateAttr) : graph::GenerateAttr();
  auto train = module ? module->getAttrOfType<graph::TrainAttr>(graph::kTrainAttr) : graph::TrainAttr();
  const int64_t ids = generate ? generate.getVocab() : train ? train.getVocab() : 8;
  /// A number of a step of training, or what an optimizer keeps: roots are taken of some.
  auto isOfTraining = [&](unsigned argument) {
    auto fill = func.getArgAttrOfType<graph::FillAttr>(argument, graph::kFillAttr);
    auto name = func.getArgAttrOfType<StringAttr>(argument, graph::kNameAttr);
    auto parameter = name && module ? module.lookupSymbol<graph::ParameterOp>(name) : graph::ParameterOp();
    return (fill && fill.getSource() >= graph::FillSource::TokenWeight &&
            fill.getSource() <= graph::FillSource::Dropout) ||
           (parameter && parameter->hasAttr(graph::kStateOfAttr));
  };
  std::vector<ReferenceTensor> inputs;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    ReferenceTensor tensor =
        type ? ReferenceTensor(type.getElementType(), dist::globalShape(type)) : ReferenceTensor();
    auto fill = func.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
    auto isFilledBy = [&](graph::FillSource source) { return fill && fill.getSource() == source; };
    int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    double scale = graph::argumentKind(func, i) == graph::Kind::Parameter ? std::sqrt(3 / double(row)) : 1;
    for (double &x : tensor.f)
      x = uniform() * scale;
    if (isFilledBy(graph::FillSource::Temperature) || isFilledBy(graph::FillSource::TopP))
      for (double &x : tensor.f)
        x = std::fabs(x) + 0.01; // nothing is drawn at 0
    if (isFilledBy(graph::FillSource::MinP))
      for (double &x : tensor.f)
        x = std::fabs(x);
    if (isFilledBy(graph::FillSource::RepeatPenalty))
      for (double &x : tensor.f)
        x = std::fabs(x) + 0.5;
    if (isOfTraining(i))
      for (double &x : tensor.f)
        x = std::fabs(x);
    if (isFilledBy(graph::FillSource::Clip) && below(2))
      tensor.f[0] = 0;
    if (isFilledBy(graph::FillSource::Dropout))
      tensor.f[0] *= 0.5; // what is left stays a number like the others
    if (isFilledBy(graph::FillSource::DropoutKey)) {
      tensor.i[0] = int64_t(random());
      inputs.push_back(std::move(tensor));
      continue;
    }
    for (int64_t begin = 0; begin < int64_t(tensor.i.size()); begin += row) {
      // How much of a row of positions is real, and where a single position stands.
      if (isFilledBy(graph::FillSource::Pages)) { // every page at another's place
        drawPages(tensor, begin, random());
        continue;
      }
      // Rows of training may be empty.
      bool trains = tensor.rank() == 3;
      int64_t length = row - below(trains ? row + 1 : row / 2 + 1),
              start = row == 1 && !trains ? below(4) : 0;
      for (int64_t j = 0; j < row; ++j) {
        int64_t &x = tensor.i[begin + j];
        if (tensor.elementType.isInteger(1))
          x = below(2);
        else if (isFilledBy(graph::FillSource::Positions)) {
          if (trains && below(5) == 0) // the next document of the row
            start = -j;
          x = j < length ? start + j : -1;
        } else if (isFilledBy(graph::FillSource::Targets))
          x = j < length && below(5) ? below(ids) : -1;
        else if (isFilledBy(graph::FillSource::EndTokens) || isFilledBy(graph::FillSource::DrawnEndTokens))
          x = below(ids + 1) - 1;
        else
          x = below(isFilledBy(graph::FillSource::LastIndex)    ? 2
                    : isFilledBy(graph::FillSource::SeenTokens) ? 2
                    : isFilledBy(graph::FillSource::TokenIds)   ? ids
                                                                : 8);
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

double tessera::relativeError(const ReferenceTensor &a, const ReferenceTensor &b, double least) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (a.shape != b.shape || a.isFloat() != b.isFloat())
    return infinite;
  if (!a.isFloat())
    return a.i == b.i ? 0 : 1;
  double largest = least, difference = 0;
  for (size_t i = 0; i < a.f.size(); ++i) {
    double x = a.f[i], y = b.f[i];
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!std::isfinite(x) || !std::isfinite(y))
      return infinite;
    difference = std::max(difference, std::fabs(x - y));
  }
  for (double x : a.f)
    if (std::isfinite(x))
      largest = std::max(largest, std::fabs(x));
  return difference == 0 ? 0 : largest == 0 ? infinite : difference / largest;
}
