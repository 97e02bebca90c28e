//===- PlacedPrograms.h - Placements that are known -------------*- C++ -*-===//
//
// A block is priced as loops and functions hand values on, and then placed as they do: the same program
// again, while its neighbours changed. Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_PLACEDPROGRAMS_H
#define TESSERA_AUTOPARALLEL_PLACEDPROGRAMS_H

#include "tessera/AutoParallel/ProgramPlacement.h"

#include <list>

namespace tessera {

class PlacedPrograms {
public:
  /// What placeProgram decides, which is called where nothing is known of the same program with the same
  /// settings; it begins where a look at the same program ended, whatever that one's settings were. A search
  /// with smaller tables is enough where it left no gap: larger ones find nothing better. Decisions come
  /// without options and look.
  ProgramDecision place(const PlacementProgram &program, ReshardCosts &costs,
                        const ProgramPlacementOptions &settings);

  /// Remembers a decision of placeProgram.
  void keep(const PlacementProgram &program, ReshardCosts &costs, const ProgramPlacementOptions &settings,
            const ProgramDecision &decision);

private:
  /// All of a program and its settings that decides, but for the size of tables.
  struct Key {
    std::vector<int64_t> settings, numbers;
    /// Those without a name are equal to none but themselves.
    std::vector<std::shared_ptr<const Decomposition>> nameless;
    bool operator==(const Key &o) const {
      return settings == o.settings && numbers == o.numbers && nameless == o.nameless;
    }
  };
  struct Known {
    Key key;
    int64_t largestTable;
    ProgramDecision decision;
  };
  static Key keyOf(const PlacementProgram &program, ReshardCosts &costs,
                   const ProgramPlacementOptions &settings);
  /// A decision under a limit depends on more than the key says; one of hints alone is soon made, and there
  /// are many.
  static bool isKept(const ProgramPlacementOptions &settings);
  void keep(Key key, int64_t largestTable, const ProgramDecision &decision);
  /// placeProgram from where a look at the same program ended, whatever the settings were.
  ProgramDecision placeAnew(const Key &key, const PlacementProgram &program, ReshardCosts &costs,
                            const ProgramPlacementOptions &settings);

  std::list<Known> known; ///< last used first
  struct Looked {
    Key key; ///< without settings but for the number of options
    FirstLook look;
  };
  std::list<Looked> looks; ///< the last one first
};

} // namespace tessera
#endif
