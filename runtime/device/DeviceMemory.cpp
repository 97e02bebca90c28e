#include "tessera/runtime/device/DeviceMemory.h"
#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/comm/World.h"

#include <set>

namespace tessera::runtime {

DeviceMemory deviceMemory(const ts_program &program, const Manifest &manifest, const WeightPlan &plan,
                          int64_t rank) {
  const Driver &driver = plan.driver();
  DeviceMemory memory;
  memory.weights = plan.bytes();
  memory.arena = manifest.arenaBytes;
  memory.workspace = driver.workspaceBytes(manifest);
  if (const World *world = findWorld(driver.fabric(), RanksFrom::Threads))
    memory.staging = stagingBytes(manifest, rank, *world);
  std::set<std::pair<int64_t, int64_t>> kept;
  for (const EntrySpec &entry : manifest.entries)
    for (const InputSpec &input : entry.inputs)
      if (input.fill == Fill::Output && kept.insert({input.entry, input.output}).second)
        memory.outputs += manifest.entries[size_t(input.entry)].outputs[size_t(input.output)].bytes;
  memory.code = driver.codeBytes(program);
  return memory;
}

} // namespace tessera::runtime
