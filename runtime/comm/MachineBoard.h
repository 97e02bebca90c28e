// The board of ranks that are processes: those of one machine share it in memory; and who is on which
// machine.
#ifndef TESSERA_RUNTIME_COMM_MACHINEBOARD_H
#define TESSERA_RUNTIME_COMM_MACHINEBOARD_H

#include "SharedSegment.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Board.h"

#include <memory>
#include <optional>
#include <vector>

namespace tessera::runtime {

class MachineBoard {
public:
  // Of all ranks together. Fills this rank's entry; on return those of all ranks of this machine are filled.
  // As long as the object lives, one process of the machine reports the end of the run.
  explicit MachineBoard(HostPlane &plane);
  ~MachineBoard();
  MachineBoard(const MachineBoard &) = delete;

  Board &board() { return *board_; }
  // The ranks of this machine, the first rank of every machine, how many ranks every machine has.
  const std::vector<int64_t> &machine() const { return machine_; }
  const std::vector<int64_t> &firsts() const { return firsts_; }
  const std::vector<size_t> &sizes() const { return sizes_; }

private:
  void findMachines(HostPlane &plane);
  std::vector<int64_t> machine_, firsts_;
  std::vector<size_t> sizes_;
  std::unique_ptr<Board> board_;
};

} // namespace tessera::runtime
#endif
