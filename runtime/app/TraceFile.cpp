#include "TraceFile.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;
using Put = std::function<void(const std::string &)>;

TraceClock::TraceClock(HostPlane &plane) {
  struct {
    int64_t zero;
    char boot[64];
  } mine{}, first;
  if (std::ifstream file("/proc/sys/kernel/random/boot_id"); file) // of a machine, as long as it runs
    file.getline(mine.boot, sizeof mine.boot);
  plane.barrier();
  mine.zero = std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::steady_clock::now().time_since_epoch())
                  .count();
  first = mine;
  plane.broadcast(&first, sizeof first, 0);
  zero_ = std::strcmp(mine.boot, first.boot) == 0 ? first.zero : mine.zero;
}

// Microseconds, to the nanosecond.
static std::string microseconds(int64_t nanoseconds) {
  char text[40];
  snprintf(text, sizeof text, "%s%lld.%03lld", nanoseconds < 0 ? "-" : "",
           (long long)(std::abs(nanoseconds) / 1000), (long long)(std::abs(nanoseconds) % 1000));
  return text;
}

static const char *categoryOf(TraceRow row) {
  switch (row) {
  case TraceRow::Step:
    return "step";
  case TraceRow::Compute:
    return "compute";
  case TraceRow::Wait:
    return "wait";
  case TraceRow::Collective:
    return "collective";
  }
  return "";
}

static std::string quoted(const std::string &text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Names and what else does not change from slice to slice.
static std::string nameOf(const TraceSlice &slice, const Manifest &manifest) {
  if (!slice.call)
    return "step " + std::to_string(slice.step);
  const CallSpec &call = *slice.call;
  std::string name = call.operation(manifest) + (call.value.empty() ? "" : " " + call.value);
  if (slice.row != TraceRow::Wait)
    return name;
  return (slice.kind == CallKind::Collective ? "in "
          : slice.kind == CallKind::Wait     ? "wait for "
                                             : "start ") +
         name;
}

static Json argumentsOf(const TraceSlice &slice, const StepTrace &trace, const Manifest &manifest) {
  Json arguments = {{"step", slice.step}};
  if (!slice.call)
    return arguments;
  const CallSpec &call = *slice.call;
  arguments["do"] = callKindName(slice.kind);
  arguments["operation"] = call.operation(manifest);
  if (!call.value.empty())
    arguments["value"] = call.value;
  if (const std::string &place = trace.places()[slice.place]; !place.empty())
    arguments["at"] = place;
  if (slice.row == TraceRow::Collective && call.id >= 0) {
    const CollectiveSpec &collective = manifest.collectives[size_t(call.id)];
    arguments["id"] = call.id;
    arguments["bytes"] = bytesSent(manifest, collective);
    arguments["why"] = collective.why;
  }
  return arguments;
}

static std::string nameText(int64_t rank, int64_t thread, const std::string &name) {
  std::string head = "{\"ph\":\"M\",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(thread);
  return ",\n" + head + ",\"name\":\"thread_name\",\"args\":{\"name\":" + quoted(name) + "}},\n" + head +
         ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + std::to_string(thread) + "}}";
}

// The row of each slice. Collectives that go on at the same time have rows of their own: in the order in
// which they begin, each takes the first that is free.
static std::vector<int64_t> rowsOf(const std::vector<TraceSlice> &slices, int64_t &lanes) {
  std::vector<int64_t> rows(slices.size());
  std::vector<size_t> collectives;
  for (size_t i = 0; i < slices.size(); ++i) {
    rows[i] = int64_t(slices[i].row);
    if (slices[i].row == TraceRow::Collective)
      collectives.push_back(i);
  }
  std::sort(collectives.begin(), collectives.end(), [&](size_t a, size_t b) {
    return std::pair(slices[a].begin, a) < std::pair(slices[b].begin, b);
  });
  std::vector<int64_t> ends;
  for (size_t i : collectives) {
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] > slices[i].begin)
      ++lane;
    if (lane == ends.size())
      ends.push_back(0);
    ends[lane] = slices[i].end;
    rows[i] += int64_t(lane);
  }
  lanes = int64_t(ends.size());
  return rows;
}

static void putRank(int64_t rank, const Manifest &manifest, const StepTrace &trace, int64_t zero,
                    const Put &put) {
  int64_t lanes = 0;
  const std::vector<int64_t> rows = rowsOf(trace.slices(), lanes);
  const std::string pid = ",\"pid\":" + std::to_string(rank);
  std::string names = (rank == 0 ? "" : ",\n") + ("{\"ph\":\"M\"" + pid) +
                      ",\"name\":\"process_name\",\"args\":{\"name\":\"rank " + std::to_string(rank) + "\"}}";
  for (TraceRow row : {TraceRow::Step, TraceRow::Compute, TraceRow::Wait})
    names += nameText(rank, int64_t(row), categoryOf(row));
  for (int64_t lane = 0; lane < lanes; ++lane)
    names += nameText(rank, int64_t(TraceRow::Collective) + lane,
                      "collectives" + (lane ? " " + std::to_string(lane + 1) : ""));
  put(names);
  for (size_t i = 0; i < rows.size(); ++i) {
    const TraceSlice &slice = trace.slices()[i];
    put(",\n{\"ph\":\"X\"" + pid + ",\"tid\":" + std::to_string(rows[i]) +
        ",\"ts\":" + microseconds(slice.begin - zero) + ",\"dur\":" + microseconds(slice.end - slice.begin) +
        ",\"cat\":\"" + categoryOf(slice.row) + "\",\"name\":" + quoted(nameOf(slice, manifest)) +
        ",\"args\":" +
        argumentsOf(slice, trace, manifest).dump(-1, ' ', false, Json::error_handler_t::replace) + "}");
  }
}

// Text of rank `from` to rank 0, a piece at a time; a piece of no bytes is the end.
static void send(HostPlane &plane, int64_t from, std::string &piece) {
  auto bytes = int64_t(piece.size());
  plane.broadcast(&bytes, sizeof bytes, from);
  piece.resize(size_t(bytes));
  if (bytes > 0)
    plane.broadcast(piece.data(), piece.size(), from);
}

std::vector<int64_t> writeTrace(HostPlane &plane, const Manifest &manifest, const StepTrace &trace,
                                const TraceClock &clock, io::OutputFile *file) {
  constexpr size_t most = size_t(1) << 20;
  auto write = [&](const std::string &text) {
    if (file)
      check(file->write(text.data(), text.size()));
  };
  write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  for (int64_t rank = 0; rank < plane.ranks(); ++rank) {
    std::string piece;
    if (rank == plane.rank()) {
      auto pass = [&] {
        if (rank == 0)
          write(piece);
        else
          send(plane, rank, piece);
        piece.clear();
      };
      putRank(rank, manifest, trace, clock.zero(), [&](const std::string &text) {
        piece += text;
        if (piece.size() >= most)
          pass();
      });
      if (!piece.empty())
        pass();
      if (rank > 0)
        send(plane, rank, piece);
    } else if (rank > 0) {
      do {
        send(plane, rank, piece);
        write(piece);
      } while (!piece.empty());
    }
  }
  write("\n]}\n");
  auto whole = char(trace.isWhole());
  std::string all(plane.rank() == 0 ? size_t(plane.ranks()) : 0, '\0');
  plane.gather(&whole, 1, all.data(), 0);
  std::vector<int64_t> cut;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank])
      cut.push_back(int64_t(rank));
  if (file)
    check(file->finish());
  return cut;
}

} // namespace tessera::runtime
