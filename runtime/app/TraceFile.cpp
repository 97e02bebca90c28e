#include "TraceFile.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

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

static const char *categoryOf(TraceRow row) {
  switch (row) {
  case TraceRow::Step:
    return "step";
  case TraceRow::Part:
    return "part";
  case TraceRow::Compute:
    return "compute";
  case TraceRow::Wait:
    return "wait";
  case TraceRow::Collective:
    return "collective";
  case TraceRow::Message:
    return "message";
  }
  return "";
}

// Names and what else does not change from slice to slice.
static std::string nameOf(const TraceSlice &slice, const StepTrace &trace) {
  if (!slice.call) {
    if (slice.row == TraceRow::Step)
      return "step " + std::to_string(slice.step);
    const std::string &what = trace.places()[slice.place];
    return (slice.kind == CallKind::Wait ? "wait for " : "") + what;
  }
  const CallSpec &call = *slice.call;
  std::string name = call.operation(*slice.manifest) + (call.value.empty() ? "" : " " + call.value);
  if (slice.row != TraceRow::Wait)
    return name;
  return (slice.kind == CallKind::Collective ? "in "
          : slice.kind == CallKind::Wait     ? "wait for "
          : slice.kind == CallKind::ReadFlag ? ""
                                             : "start ") +
         name;
}

static Json argumentsOf(const TraceSlice &slice, const StepTrace &trace) {
  Json arguments = {{"step", slice.step}};
  if (!slice.call)
    return arguments;
  const CallSpec &call = *slice.call;
  const Manifest &manifest = *slice.manifest;
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

// Where slices lie: a row of its own for each kind, and of what goes on at the same time several, in the
// order in which they begin: each takes the first that is free.
struct RankRows {
  std::vector<int64_t> of; // by slice
  std::vector<std::string> names;

  explicit RankRows(const std::vector<TraceSlice> &slices) : of(slices.size()) {
    bool hasParts = false;
    for (const TraceSlice &slice : slices)
      hasParts |= slice.row == TraceRow::Part;
    for (TraceRow row : {TraceRow::Step, TraceRow::Part, TraceRow::Compute, TraceRow::Wait})
      if (row != TraceRow::Part || hasParts) {
        names.emplace_back(categoryOf(row));
        for (size_t i = 0; i < slices.size(); ++i)
          if (slices[i].row == row)
            of[i] = int64_t(names.size()) - 1;
      }
    addLanes(slices, TraceRow::Collective, "collectives");
    addLanes(slices, TraceRow::Message, "messages");
  }

private:
  void addLanes(const std::vector<TraceSlice> &slices, TraceRow row, const std::string &name) {
    std::vector<size_t> own;
    for (size_t i = 0; i < slices.size(); ++i)
      if (slices[i].row == row)
        own.push_back(i);
    std::sort(own.begin(), own.end(), [&](size_t a, size_t b) {
      return std::pair(slices[a].begin, a) < std::pair(slices[b].begin, b);
    });
    const auto first = int64_t(names.size());
    std::vector<int64_t> ends;
    for (size_t i : own) {
      size_t lane = 0;
      while (lane < ends.size() && ends[lane] > slices[i].begin)
        ++lane;
      if (lane == ends.size())
        ends.push_back(0);
      ends[lane] = slices[i].end;
      of[i] = first + int64_t(lane);
    }
    for (size_t lane = 0; lane < ends.size(); ++lane)
      names.push_back(name + (lane ? " " + std::to_string(lane + 1) : ""));
  }
};

static void putRank(int64_t rank, const StepTrace &trace, int64_t zero, const TraceEvents::Put &put) {
  const RankRows rows(trace.slices());
  TraceEvents events(/*isFirst=*/rank == 0, put);
  events.process(rank, "rank " + std::to_string(rank));
  for (size_t row = 0; row < rows.names.size(); ++row)
    events.row(rank, int64_t(row), rows.names[row]);
  for (size_t i = 0; i < rows.of.size(); ++i) {
    const TraceSlice &slice = trace.slices()[i];
    events.slice(rank, rows.of[i], slice.begin - zero, slice.end - zero, categoryOf(slice.row),
                 nameOf(slice, trace),
                 argumentsOf(slice, trace).dump(-1, ' ', false, Json::error_handler_t::replace));
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

std::vector<int64_t> writeTrace(HostPlane &plane, const StepTrace &trace, const TraceClock &clock,
                                io::OutputFile *file, const std::function<void(TraceEvents &)> &more) {
  constexpr size_t most = size_t(1) << 20;
  auto write = [&](const std::string &text) {
    if (file)
      check(file->write(text.data(), text.size()));
  };
  write(TraceEvents::fileBegin);
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
      putRank(rank, trace, clock.zero(), [&](const std::string &text) {
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
  if (more && plane.rank() == 0) {
    TraceEvents events(/*isFirst=*/false, write);
    more(events);
  }
  write(TraceEvents::fileEnd);
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
