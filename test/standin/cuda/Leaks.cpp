#include "Leaks.h"
#include "Report.h"

#include <cstdlib>

namespace standin {

template <typename Table> static size_t countIn(const Table &table, const Context &context) {
  size_t count = 0;
  for (const auto &[number, object] : table.live())
    count += object->context.get() == &context;
  return count;
}

// "2 streams, 1 event"; empty where there is nothing.
static std::string ownedBy(const Machine &machine, const Context &context) {
  std::string text;
  auto add = [&](size_t count, const char *what) {
    if (count)
      text += (text.empty() ? "" : ", ") + countOf(count, what);
  };
  size_t bytes = 0, device = 0, pinned = 0, registered = 0;
  for (const AllocationRef &one : machine.memory.ofDevice(context.device)) {
    bytes += one->kind == Allocation::Kind::Device ? one->bytes() : 0;
    device += one->kind == Allocation::Kind::Device;
    pinned += one->kind == Allocation::Kind::Pinned;
    registered += one->kind == Allocation::Kind::Registered;
  }
  if (device)
    text = countOf(device, "allocation") + " of " + countOf(bytes, "byte");
  add(pinned, "pinned allocation");
  add(registered, "registered range");
  add(countIn(machine.streams, context), "stream");
  add(countIn(machine.events, context), "event");
  add(countIn(machine.graphExecs, context), "executable graph");
  add(countIn(machine.modules, context), "module");
  return text;
}

void checkLeaks(const Machine &machine, const Context &context) {
  std::string owned = context.fault ? "" : ownedBy(machine, context);
  if (!owned.empty() && settings().leaks)
    violation("leaked " + owned + " (device " + std::to_string(context.device) +
              "): its context ends and still owns them; free and destroy what was made");
}

static void atExit(int status, void *) {
  Machine &machine = Machine::get();
  std::unique_lock<std::mutex> lock(machine.mutex);
  if (status == 0)
    for (const auto &[device, context] : machine.primary)
      checkLeaks(machine, *context);
  machine.rest(lock);
}

void checkLeaksAtExit() { on_exit(atExit, nullptr); }

template <typename Table> static void removeFrom(Table &table, const Context &context) {
  for (auto at = table.live().begin(); at != table.live().end();) {
    auto object = (at++)->second;
    if (object->context.get() == &context)
      table.remove(object->handle);
  }
}

void discard(Machine &machine, Context &context) {
  removeFrom(machine.streams, context);
  removeFrom(machine.events, context);
  removeFrom(machine.graphExecs, context);
  removeFrom(machine.modules, context);
  for (const AllocationRef &one : machine.memory.ofDevice(context.device))
    machine.memory.release(one);
  machine.releaseLane(context.lane);
}

} // namespace standin
