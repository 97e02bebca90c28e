//===- PlacementText.h - Placement cases as text ----------------*- C++ -*-===//
//
// A propagation case (PropagationText.h) with lines that start with `place` is placed after propagation, as
// the compiler places a block, but for axes that nothing lies over: placeProgram decides how every op runs,
// planForMachine how values get from one op to the next.
//
//   place                                      place it; every other line below does, too
//   place machine {"link": {"latency": 0.001}} (tessera/AutoParallel/Machine.h; default: the given one)
//   place flops dot 1e9                        work of the whole op; default: the product of its factors,
//   twice that where it reduces place expect dot [x/y] [y/-] -> [x/-] U{y} what the op runs with: its
//   operands, its results place expect collectives AR{y}; SL{x} 0    all steps of all reshards, in program
//   order; - for none place expect bytes 128                     that a device receives in all; also: bytes
//   <= 128
//
// A tensor that no op makes is given in the sharding that propagation leaves it. One that an op makes and
// whose line says a sharding is pinned: whoever reads it reads it so, and it must get there even if nobody
// does. One that nobody reads is a result of the program, in the sharding that propagation found. `op return`
// and edges hand values over in the sharding of their result and do nothing. Elements have 4 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_PLACEMENTTEXT_H
#define TESSERA_AUTOPARALLEL_PLACEMENTTEXT_H

#include "tessera/Analysis/Sharding/PropagationText.h"
#include "tessera/AutoParallel/ProgramPlacement.h"

namespace tessera {

/// A step as the text form has it: `AR{y}`, `SL{x} 0`, `AG{x} 1`, `A2A{x} 0->2 {y} 1->3`, `CP`.
std::string toString(const ReshardStep &step, const Mesh &mesh);

/// A value on its way from one op to the next.
struct PlacedReshard {
  int tensor; ///< of the case
  Sharding from, to;
  ReshardPlan plan;
};

struct PlacedCase {
  ProgramDecision decision;
  std::vector<int> ops; ///< of the case's graph, one for each of decision.ops
  std::vector<PlacedReshard> reshards;
  std::vector<std::string> collectives; ///< their steps
  double bytes = 0;                     ///< received by the busiest device, added up over the steps
};

class PlacementCase {
public:
  /// Reads the lines of `text` that start with `place`. None on wrong text, or on manual regions, which are
  /// not placed; `error` says line and reason. `text` must outlive the case.
  static std::optional<PlacementCase> parse(const PropagationCase &text, const Machine &machine,
                                            std::string &error);

  /// Places the program; its shardings must have been propagated. None if it cannot be placed: a value is
  /// wanted as a partial sum that no op makes.
  std::optional<PlacedCase> place() const;
  /// Places and compares: one line for every expectation that does not hold. `report` gets a line for each op
  /// and reshard, and the sum.
  std::vector<std::string> run(std::string *report = nullptr) const;

private:
  struct Expectation {
    int line;
    std::string what; ///< `collectives`, `bytes` or the op's name
    std::string text; ///< as it is printed
    bool atMost = false;
    double number = 0;
  };
  explicit PlacementCase(const PropagationCase &text, const Machine &machine)
      : text(&text), machine(machine) {}
  bool parseLine(llvm::StringRef content, int line, std::string &error);
  bool parseExpect(llvm::StringRef content, int line, std::string &error);
  std::optional<int> opCalled(llvm::StringRef name, std::string &error) const;
  std::string runsWith(int op, const PlacementDecision &decision) const;

  const PropagationCase *text;
  Machine machine;
  std::vector<std::pair<int, double>> flops; ///< of an op
  std::vector<Expectation> expectations;
};

} // namespace tessera
#endif
