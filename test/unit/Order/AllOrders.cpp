#include "AllOrders.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::test {

namespace {

struct Bytes {
  int memory;
  int64_t begin, end;
  bool writes;
};

/// One thing that a stream was given.
struct Step {
  int stream;
  int tag;
  std::vector<Bytes> bytes;
  bool communicates = false;
  std::vector<int> after; ///< steps that come first
  bool mayBeLast = false; ///< nobody minds if the call ends before it: it marks a place
};

/// The program as the host gives it, for one set of counts.
class Unrolled {
public:
  Unrolled(const ArenaProgram &program, int streams, const std::map<const ArenaLoop *, int64_t> &counts)
      : program(program), counts(counts), last(size_t(streams), -1) {
    give({0, -1, {{0, 0, 1 << 20, true}, {1, 0, 1 << 20, true}}, false, {}}); // what was before
    items(program.items);
    give({0, -2, {{0, 0, 1 << 20, true}, {1, 0, 1 << 20, true}}, false, {}}); // what comes after
  }
  std::vector<Step> steps;
  std::string wrong;

private:
  int give(Step step) {
    int number = int(steps.size());
    if (size_t(step.stream) >= last.size())
      last.resize(size_t(step.stream) + 1, -1);
    if (last[size_t(step.stream)] >= 0)
      step.after.push_back(last[size_t(step.stream)]);
    last[size_t(step.stream)] = number;
    steps.push_back(std::move(step));
    return number;
  }

  void items(const std::vector<ArenaItem> &list) {
    for (const ArenaItem &item : list) {
      if (!item.loop) {
        op(item);
        continue;
      }
      indices.push_back(0);
      for (int64_t i = 0; i < counts.at(item.loop.get()); i += item.loop->step) {
        indices.back() = i;
        items(item.loop->body);
      }
      indices.pop_back();
    }
  }

  std::vector<Bytes> bytesOf(const ArenaOp &op) const {
    std::vector<Bytes> list;
    for (const ArenaAccess &access : op.accesses) {
      int64_t at = program.buffers[size_t(access.buffer)].offset;
      for (const ArenaLayer &layer : access.layers) {
        int64_t index = layer.index.constant;
        for (auto [depth, factor] : layer.index.factors)
          index += factor * indices[size_t(depth)];
        at += index * layer.bytes;
      }
      list.push_back({program.buffers[size_t(access.buffer)].memory, at, at + access.bytes,
                      access.mode != AccessMode::Read});
    }
    return list;
  }

  void op(const ArenaItem &item) {
    const ArenaOp &op = item.op;
    Step step{op.stream, item.tag, {}, op.communicates, {}};
    if (op.awaits >= 0) {
      if (!events.count(op.awaits))
        wrong = "waits for what was not recorded";
      else
        step.after.push_back(events[op.awaits]);
    }
    for (int token : op.waitsFor)
      step.after.push_back(flights.at(token));
    if (op.starts < 0)
      step.bytes = bytesOf(op);
    step.mayBeLast = op.records >= 0;
    int given = give(step);
    if (op.records >= 0)
      events[op.records] = given;
    if (op.starts >= 0)
      flights[op.starts] = give({int(last.size()), item.tag, bytesOf(op), false, {given}});
  }

  const ArenaProgram &program;
  const std::map<const ArenaLoop *, int64_t> &counts;
  std::vector<int> last; ///< by stream
  std::map<int, int> events, flights;
  std::vector<int64_t> indices;
};

bool meet(const Step &a, const Step &b) {
  for (const Bytes &x : a.bytes)
    for (const Bytes &y : b.bytes)
      if (x.memory == y.memory && x.begin < y.end && y.begin < x.end && (x.writes || y.writes))
        return true;
  return a.communicates && b.communicates;
}

/// Tries every order: how far each stream is; what may come next are those whose `after` is done.
class Orders {
public:
  explicit Orders(const std::vector<Step> &steps) : steps(steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      size_t stream = size_t(steps[i].stream);
      if (stream >= queues.size())
        queues.resize(stream + 1);
      places.push_back(queues[stream].size());
      queues[stream].push_back(i);
    }
  }

  std::string tryAll() {
    using Done = std::vector<size_t>; // by stream
    std::vector<Done> todo{Done(queues.size(), 0)};
    std::set<Done> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      Done done = todo.back();
      todo.pop_back();
      auto isDone = [&](size_t step) { return places[step] < done[size_t(steps[step].stream)]; };
      for (size_t stream = 0; stream < queues.size(); ++stream) {
        if (done[stream] == queues[stream].size())
          continue;
        size_t next = queues[stream][done[stream]];
        const Step &step = steps[next];
        if (!std::all_of(step.after.begin(), step.after.end(), [&](int s) { return isDone(size_t(s)); }))
          continue;
        // Whatever the host gave before and meets this must be done.
        for (size_t earlier = 0; earlier < next; ++earlier)
          if (!isDone(earlier) &&
              (meet(steps[earlier], step) || (step.tag == -2 && !steps[earlier].mayBeLast)))
            return std::to_string(step.tag) + " before " + std::to_string(steps[earlier].tag);
        ++done[stream];
        if (seen.insert(done).second)
          todo.push_back(done);
        --done[stream];
      }
    }
    return "";
  }

private:
  const std::vector<Step> &steps;
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> places; ///< of a step in its queue
};

void collectLoops(const std::vector<ArenaItem> &items, std::vector<const ArenaLoop *> &loops) {
  for (const ArenaItem &item : items)
    if (item.loop) {
      loops.push_back(item.loop.get());
      collectLoops(item.loop->body, loops);
    }
}

} // namespace

std::string whatCanGoWrong(const ArenaProgram &program, int streams) {
  std::vector<const ArenaLoop *> loops;
  collectLoops(program.items, loops);
  std::map<const ArenaLoop *, int64_t> counts;
  for (const ArenaLoop *loop : loops)
    counts[loop] = loop->least;
  for (;;) {
    Unrolled unrolled(program, streams, counts);
    std::string wrong = unrolled.wrong.empty() ? Orders(unrolled.steps).tryAll() : unrolled.wrong;
    if (!wrong.empty())
      return wrong;
    size_t i = 0;
    for (; i < loops.size() && counts[loops[i]] == loops[i]->most; ++i)
      counts[loops[i]] = loops[i]->least;
    if (i == loops.size())
      return "";
    ++counts[loops[i]];
  }
}

static void print(const std::vector<ArenaItem> &items, const std::string &indent, std::string &text) {
  for (const ArenaItem &item : items) {
    text += indent + std::to_string(item.tag) + ": ";
    if (item.loop) {
      text += "loop " + std::to_string(item.loop->least) + ".." + std::to_string(item.loop->most) + " step " +
              std::to_string(item.loop->step) + "\n";
      print(item.loop->body, indent + "  ", text);
      continue;
    }
    text += "stream " + std::to_string(item.op.stream);
    if (item.op.records >= 0)
      text += " records " + std::to_string(item.op.records);
    if (item.op.awaits >= 0)
      text += " awaits " + std::to_string(item.op.awaits);
    if (item.op.starts >= 0)
      text += " starts " + std::to_string(item.op.starts);
    for (int token : item.op.waitsFor)
      text += " ends " + std::to_string(token);
    if (item.op.communicates)
      text += " communicates";
    for (const ArenaAccess &access : item.op.accesses) {
      text += std::string(access.mode == AccessMode::Read ? " reads " : " writes ") +
              std::to_string(access.buffer);
      for (const ArenaLayer &layer : access.layers) {
        text += "[";
        for (auto [depth, factor] : layer.index.factors)
          text += std::to_string(factor) + "*i" + std::to_string(depth) + "+";
        text += std::to_string(layer.index.constant) + "]";
      }
    }
    text += "\n";
  }
}

std::string printProgram(const ArenaProgram &program) {
  std::string text;
  print(program.items, "", text);
  return text;
}

} // namespace tessera::test
