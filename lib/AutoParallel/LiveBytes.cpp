//===- LiveBytes.cpp - What a rank has at once of a program's values ------===//
#include "LiveBytes.h"

#include "HeldExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace tessera;

LiveBytes::LiveBytes(const PlacementProgram &program, const Machine &machine)
    : program(program), machine(machine), values(program.values.size()) {
  auto timeOf = [&](size_t op) { return program.ops[op].at < 0 ? int(op) : program.ops[op].at; };
  for (auto [i, op] : llvm::enumerate(program.ops)) {
    const int at = timeOf(i);
    end = std::max(end, at + 1);
    for (auto [r, value] : llvm::enumerate(op.results)) {
      Value &made = values[size_t(value)];
      made.at = at, made.producer = int(i), made.result = int(r);
    }
    for (auto [o, value] : llvm::enumerate(op.operands))
      values[size_t(value)].readers.push_back({at, int(i), int(o), nullptr});
  }
  for (const ProgramUse &use : program.uses)
    end = std::max(end, use.at + 1);
  for (auto [u, use] : llvm::enumerate(program.uses))
    values[size_t(use.value)].readers.push_back({use.at < 0 ? end : use.at, int(u), -1, &use.sharding});
  for (Value &value : values)
    llvm::sort(value.readers, [](const Reader &a, const Reader &b) {
      return std::tuple(a.at, a.operand, a.op) < std::tuple(b.at, b.operand, b.op);
    });
}

double LiveBytes::of(const ProgramValue &value, const Sharding &sharding) {
  double bytes = value.elementBytes;
  for (int64_t size : sharding.localShape(value.shape))
    bytes *= double(size);
  return bytes;
}

double LiveBytes::ofCopy(const ProgramValue &value, const Sharding &needed, const Machine &machine) {
  double bytes = of(value, needed);
  return expansionTime(value, needed, machine) > 0 ? bytes / value.elementBytes * value.plainBytes : bytes;
}

void LiveBytes::add(int first, int last, double more) {
  for (int at = first; at <= last; ++at)
    bytes[size_t(at)] += more;
}

llvm::ArrayRef<double> LiveBytes::of(llvm::ArrayRef<const PlacementDecision *> chosen) {
  bytes.assign(size_t(times()), 0);
  auto optionOf = [&](int op) { return op < int(chosen.size()) ? chosen[size_t(op)] : nullptr; };
  for (auto [value, info] : llvm::zip(values, program.values)) {
    const bool isMade = value.producer >= 0;
    const PlacementDecision *producer = isMade ? optionOf(value.producer) : nullptr;
    if (isMade && !producer)
      continue;
    const Sharding &made = isMade ? producer->results[size_t(value.result)] : info.sharding;
    int lastOfMade = value.at;
    copies.clear();
    for (const Reader &reader : value.readers) {
      const PlacementDecision *option = reader.outside ? nullptr : optionOf(reader.op);
      if (!option && !reader.outside)
        continue;
      const Sharding &needed = reader.outside ? *reader.outside : option->operands[size_t(reader.operand)];
      if (needed.samePlacement(made)) {
        lastOfMade = reader.at;
        continue;
      }
      auto known =
          llvm::find_if(copies, [&](const Copy &copy) { return copy.sharding->samePlacement(needed); });
      if (known != copies.end()) {
        known->last = reader.at;
        continue;
      }
      copies.push_back({&needed, reader.at, reader.at});
      lastOfMade = reader.at;
    }
    if (isMade)
      add(value.at, lastOfMade, of(info, made));
    for (const Copy &copy : copies)
      add(copy.first, copy.last, ofCopy(info, *copy.sharding, machine));
  }
  return bytes;
}

double LiveBytes::most(llvm::ArrayRef<const PlacementDecision *> chosen) {
  llvm::ArrayRef<double> all = of(chosen);
  return *std::max_element(all.begin(), all.end());
}

std::pair<int, int> LiveBytes::lifeOf(int value) const {
  const Value &info = values[size_t(value)];
  int first = info.producer >= 0 ? info.at : info.readers.empty() ? 0 : info.readers.front().at;
  return {first, info.readers.empty() ? first : std::max(first, info.readers.back().at)};
}
