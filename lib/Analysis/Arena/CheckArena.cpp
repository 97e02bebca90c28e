//===- CheckArena.cpp - nothing is read that is not there -------------------===//
//
// The state of the arena is a map from ranges of bytes to who wrote them last: through which buffer, by which
// item. A read through buffer B is right if all its bytes were last written through B (or by the runtime,
// where B is that port).
//
//===----------------------------------------------------------------------===//

#include "tessera/Analysis/Arena/ArenaProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

namespace tessera {

namespace {

/// Who wrote a range last.
struct Owner {
  int buffer = -1; ///< -1: unknown or nobody
  int port = -1;   ///< the runtime, there
  int tag = -1;    ///< the item that wrote it; below -1: one of several did
  bool operator==(const Owner &o) const { return buffer == o.buffer && port == o.port && tag == o.tag; }
  bool sameValue(const Owner &o) const { return buffer == o.buffer && port == o.port; }
};

struct Extent {
  int64_t end = 0;
  Owner owner;
  bool operator==(const Extent &o) const { return end == o.end && owner == o.owner; }
};

/// Disjoint ranges by their first byte; bytes in no range have been written by nobody.
using State = std::map<int64_t, Extent>;

/// The range that contains or follows `begin`.
State::iterator firstAt(State &state, int64_t begin) {
  auto it = state.upper_bound(begin);
  if (it != state.begin() && std::prev(it)->second.end > begin)
    --it;
  return it;
}

void assign(State &state, int64_t begin, int64_t end, Owner owner) {
  if (begin == end)
    return;
  auto it = firstAt(state, begin);
  while (it != state.end() && it->first < end) {
    auto [from, extent] = *it;
    it = state.erase(it);
    if (from < begin)
      state.emplace(from, Extent{begin, extent.owner});
    if (extent.end > end)
      it = state.emplace(end, Extent{extent.end, extent.owner}).first;
  }
  // Layers of a stack that are written one after another are one range.
  if (auto next = state.find(end); next != state.end() && next->second.owner == owner) {
    end = next->second.end;
    state.erase(next);
  }
  if (auto next = state.lower_bound(begin); next != state.begin())
    if (auto before = std::prev(next); before->second.end == begin && before->second.owner == owner) {
      before->second.end = end;
      return;
    }
  state[begin] = {end, owner};
}

class Checker {
public:
  explicit Checker(const ArenaProgram &program) : program(program) {}

  std::optional<ArenaViolation> run() {
    for (auto [i, port] : llvm::enumerate(program.ports))
      assign(state, port.offset, port.offset + port.bytes, {-1, int(i), -1});
    if (!runItems(program.items) || !checkEnd())
      return violation;
    return std::nullopt;
  }

private:
  struct Range {
    int64_t begin = 0, end = 0;
    int memory = 0;
    bool operator==(const Range &o) const { return begin == o.begin && end == o.end && memory == o.memory; }
  };
  struct Flight {
    int tag = -1;
    llvm::SmallVector<Range> reads, writes;
  };

  bool fail(int tag, int access, int other, const llvm::Twine &what) {
    violation = ArenaViolation{tag, access, other, what.str()};
    return false;
  }
  static std::string text(Range range) { return llvm::formatv("[{0}, {1})", range.begin, range.end); }

  /// Of what one of these items wrote; the same number for the same set.
  int tagOfEither(int a, int b) {
    std::set<int> items = itemsOf(a), more = itemsOf(b);
    items.insert(more.begin(), more.end());
    auto [it, isNew] = numbers.try_emplace(items, -2 - int(either.size()));
    if (isNew)
      either.push_back(items);
    return it->second;
  }
  std::set<int> itemsOf(int tag) const { return tag < -1 ? either[size_t(-2 - tag)] : std::set<int>{tag}; }
  int oneOf(int tag) const { return *itemsOf(tag).rbegin(); }

  /// What both states agree on: a byte that has another value in one of them belongs to nobody. Who reads
  /// what is left reads what either item wrote.
  State meet(const State &a, const State &b) {
    State result;
    auto x = a.begin(), y = b.begin();
    while (x != a.end() && y != b.end()) {
      int64_t begin = std::max(x->first, y->first), end = std::min(x->second.end, y->second.end);
      const Owner &one = x->second.owner, &other = y->second.owner;
      if (begin < end && one.sameValue(other)) {
        result[begin] = {end, one};
        if (one.tag != other.tag)
          result[begin].owner.tag = tagOfEither(one.tag, other.tag);
      }
      (x->second.end < y->second.end ? x : y)++;
    }
    return result;
  }

  using Items = std::vector<ArenaItem>;

  bool runItems(const Items &items) { return runItems(items, 0, items.size()); }
  bool runItems(const Items &items, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const ArenaItem &item = items[i];
      size_t other = item.loop ? otherOf(items, i) : end;
      if (other < end ? !runChoice(items, i, other)
          : item.loop ? !runLoop(item, item.loop->least)
                      : !runOp(item))
        return false;
      if (other < end)
        i = other;
    }
    return true;
  }

  //===- Choices ------------------------------------------------------------===//

  /// The loop that runs where loop `number` does not; the number of items if there is none.
  static size_t otherOf(const Items &items, size_t number) {
    return size_t(std::find_if(items.begin() + ptrdiff_t(number), items.end(),
                               [&](const ArenaItem &item) {
                                 return item.loop && item.loop->other == items[number].tag;
                               }) -
                  items.begin());
  }

  /// Items first .. second, two loops of which one runs and what stands between them: each way from the same
  /// state.
  bool runChoice(const Items &items, size_t first, size_t second) {
    State before = state;
    auto flightsBefore = flights;
    if (!runLoop(items[first], /*least=*/1) || !runItems(items, first + 1, second))
      return false;
    State taken = std::move(state);
    state = std::move(before);
    flights = std::move(flightsBefore);
    if (!runItems(items, first + 1, second) || !runLoop(items[second], /*least=*/1))
      return false;
    state = meet(taken, state);
    return true;
  }

  //===- Loops --------------------------------------------------------------===//

  bool runLoop(const ArenaItem &item, int64_t least) {
    const ArenaLoop &loop = *item.loop;
    std::optional<State> after; // over all counts that are possible so far
    auto mayEnd = [&] { after = after ? meet(*after, state) : state; };
    if (least <= 0)
      mayEnd();
    size_t inFlight = flights.size();
    bool changesPlace = dependsOnIndex(loop.body, int(indices.size()));
    indices.push_back(0);
    for (int64_t index = 0; index < loop.most; index += loop.step) {
      indices.back() = index;
      std::optional<State> before;
      if (!changesPlace)
        before = state;
      if (!runItems(loop.body))
        return false;
      // What was started in an iteration is waited for in it: its token is another one in the next.
      if (flights.size() > inFlight)
        return fail(flights.back().second.tag, -1, item.tag,
                    "is still at work when its iteration ends: nobody waits for it there");
      int64_t next = index + loop.step; // the counts index + 1 .. next end here
      if (next >= least)
        mayEnd();
      if (before && *before == state) { // and so will all iterations be
        mayEnd();
        break;
      }
    }
    indices.pop_back();
    state = std::move(*after);
    return true;
  }

  static bool dependsOnIndex(const std::vector<ArenaItem> &items, int depth) {
    return llvm::any_of(items, [&](const ArenaItem &item) {
      if (item.loop)
        return dependsOnIndex(item.loop->body, depth);
      return llvm::any_of(item.op.accesses, [&](const ArenaAccess &access) {
        return llvm::any_of(access.layers, [&](const ArenaLayer &layer) {
          return llvm::any_of(layer.index.factors,
                              [&](auto factor) { return factor.first == depth && factor.second != 0; });
        });
      });
    });
  }

  //===- Ops ----------------------------------------------------------------===//

  /// The bytes of an access; of a parameter from its own start.
  std::optional<Range> rangeOf(const ArenaItem &item, int number) {
    const ArenaAccess &access = item.op.accesses[size_t(number)];
    const ArenaBuffer &buffer = program.buffers[size_t(access.buffer)];
    int64_t begin = 0;
    for (const ArenaLayer &layer : access.layers) {
      int64_t index = layer.index.constant;
      for (auto [depth, factor] : layer.index.factors)
        index += factor * indices[size_t(depth)];
      if (index < 0 || index >= layer.layers) {
        fail(item.tag, number, -1, llvm::formatv("takes layer {0} of a stack of {1}", index, layer.layers));
        return std::nullopt;
      }
      begin += index * layer.bytes;
    }
    Range range{buffer.offset + begin, buffer.offset + begin + access.bytes, buffer.memory};
    if (begin + access.bytes > buffer.bytes) {
      fail(item.tag, number, -1,
           llvm::formatv("touches bytes {0} of a buffer that ends at {1}", text(range),
                         buffer.offset + buffer.bytes));
      return std::nullopt;
    }
    if (buffer.memory == 0 && (range.begin < 0 || range.end > program.bytes)) {
      fail(item.tag, number, -1,
           llvm::formatv("touches bytes {0} of an arena of {1}", text(range), program.bytes));
      return std::nullopt;
    }
    return range;
  }

  bool runOp(const ArenaItem &item) {
    const ArenaOp &op = item.op;
    for (int token : op.waitsFor)
      if (!finish(item, token))
        return false;
    Flight flight{item.tag, {}, {}};
    llvm::SmallVector<Range> ranges;
    for (int i = 0; i < int(op.accesses.size()); ++i) {
      std::optional<Range> range = rangeOf(item, i);
      if (!range)
        return false;
      ranges.push_back(*range);
      if (op.accesses[size_t(i)].mode != AccessMode::Write && !read(item, i, *range))
        return false;
    }
    for (int i = 0; i < int(op.accesses.size()); ++i) {
      if (op.accesses[size_t(i)].mode == AccessMode::Read) {
        flight.reads.push_back(ranges[size_t(i)]);
        continue;
      }
      if (!apart(item, i, ranges) || !write(item, i, ranges[size_t(i)]))
        return false;
      flight.writes.push_back(ranges[size_t(i)]);
    }
    if (op.starts >= 0)
      flights.emplace_back(op.starts, std::move(flight));
    return true;
  }

  /// What an op writes is nothing that it reads or writes otherwise.
  bool apart(const ArenaItem &item, int number, llvm::ArrayRef<Range> ranges) {
    Range written = ranges[size_t(number)];
    for (auto [j, other] : llvm::enumerate(ranges)) {
      bool reads = item.op.accesses[j].mode == AccessMode::Read;
      bool mayMeet = reads ? item.op.accesses[j].inPlace && other == written : int(j) >= number;
      if (mayMeet || !overlaps(other, written))
        continue;
      return fail(item.tag, number, -1,
                  llvm::formatv("writes bytes {0}, which the same op {1} {2}", text(written),
                                reads ? "reads: bytes" : "writes for another result: bytes", text(other)));
    }
    return true;
  }

  static bool overlaps(Range a, Range b) {
    return a.memory == b.memory && a.begin < b.end && b.begin < a.end;
  }

  bool read(const ArenaItem &item, int number, Range range) {
    int buffer = item.op.accesses[size_t(number)].buffer;
    for (auto &[token, flight] : flights)
      for (Range busy : flight.writes)
        if (overlaps(busy, range))
          return fail(
              item.tag, number, flight.tag,
              llvm::formatv("reads bytes {0}, which are still being written: wait first", text(range)));
    if (range.memory != 0) // the runtime has written it
      return true;
    int64_t at = range.begin;
    for (auto it = firstAt(state, at); at < range.end; ++it) {
      if (it == state.end() || it->first > at) {
        Range missing{at, it == state.end() ? range.end : std::min(range.end, it->first), 0};
        return fail(
            item.tag, number, -1,
            llvm::formatv("reads bytes {0}, of which nobody has written {1}", text(range), text(missing)));
      }
      const Owner &owner = it->second.owner;
      if (owner.port >= 0 ? !isPort(buffer, owner.port) : owner.buffer != buffer)
        return fail(item.tag, number, oneOf(owner.tag),
                    llvm::formatv("reads bytes {0}, of which {1} have another value now", text(range),
                                  text({std::max(at, it->first), std::min(range.end, it->second.end), 0})));
      wasRead.insert(owner.tag);
      at = it->second.end;
    }
    return true;
  }

  /// A buffer that is this port as a whole, where the runtime has put a value.
  bool isPort(int buffer, int port) const {
    const ArenaBuffer &b = program.buffers[size_t(buffer)];
    const ArenaPort &p = program.ports[size_t(port)];
    return p.given && b.offset == p.offset && b.bytes == p.bytes;
  }

  bool write(const ArenaItem &item, int number, Range range) {
    for (auto &[token, flight] : flights) {
      for (Range busy : flight.writes)
        if (overlaps(busy, range))
          return fail(
              item.tag, number, flight.tag,
              llvm::formatv("writes bytes {0}, which are still being written: wait first", text(range)));
      for (Range busy : flight.reads)
        if (overlaps(busy, range))
          return fail(item.tag, number, flight.tag,
                      llvm::formatv("writes bytes {0}, which are still being read: wait first", text(range)));
    }
    if (range.memory != 0) // who may write parameters is not the arena's to say
      return true;
    for (const ArenaPort &port : program.ports)
      if (!port.returned && overlaps({port.offset, port.offset + port.bytes, 0}, range))
        return fail(
            item.tag, number, -1,
            llvm::formatv("writes bytes {0}, which hold an input, a state that the entry does not return, or "
                          "what another entry returns, at [{1}, {2})",
                          text(range), port.offset, port.offset + port.bytes));
    // Part of a value in another place is no value any more, but nobody minds unless it is read.
    assign(state, range.begin, range.end, {item.op.accesses[size_t(number)].buffer, -1, item.tag});
    if (!item.op.mayBeUnread)
      written.insert({item.tag, number});
    return true;
  }

  bool finish(const ArenaItem &item, int token) {
    auto it = llvm::find_if(flights, [&](auto &flight) { return flight.first == token; });
    if (it == flights.end())
      return fail(item.tag, -1, -1, "waits for what is done, or has not begun");
    flights.erase(it);
    return true;
  }

  //===- The end ------------------------------------------------------------===//

  /// Whether an op writes into `range` of the arena.
  bool writes(const std::vector<ArenaItem> &items, Range range) const {
    return llvm::any_of(items, [&](const ArenaItem &item) {
      if (item.loop)
        return writes(item.loop->body, range);
      return llvm::any_of(item.op.accesses, [&](const ArenaAccess &access) {
        const ArenaBuffer &buffer = program.buffers[size_t(access.buffer)];
        return access.mode != AccessMode::Read && buffer.memory == 0 &&
               overlaps({buffer.offset, buffer.offset + buffer.bytes, 0}, range);
      });
    });
  }

  bool checkEnd() {
    if (!flights.empty())
      return fail(flights.back().second.tag, -1, -1,
                  "is still at work when the entry ends: nobody waits for it");
    for (auto [i, port] : llvm::enumerate(program.ports)) {
      if (!port.returned)
        continue;
      Range range{port.offset, port.offset + port.bytes, 0};
      if (port.updated && !writes(program.items, range))
        return fail(
            -1, int(i), -1,
            llvm::formatv("returns bytes {0}, which none of its ops writes: the value there is the old one",
                          text(range)));
      int64_t at = range.begin;
      std::optional<Owner> first;
      for (auto it = firstAt(state, at); at < range.end; ++it) {
        if (it == state.end() || it->first > at)
          return fail(-1, int(i), -1,
                      llvm::formatv("returns bytes {0}, of which nobody has written [{1}, {2})", text(range),
                                    at, it == state.end() ? range.end : std::min(range.end, it->first)));
        const Owner &owner = it->second.owner;
        bool own = owner.port >= 0 ? port.given && owner.port == int(i)
                                   : program.buffers[size_t(owner.buffer)].offset == port.offset &&
                                         program.buffers[size_t(owner.buffer)].bytes == port.bytes;
        if (!own || (owner.port < 0 && first && !first->sameValue(owner)))
          return fail(-1, int(i), oneOf(owner.tag),
                      llvm::formatv("returns bytes {0}, of which nobody has written [{1}, {2}) as that",
                                    text(range), std::max(at, it->first),
                                    std::min(range.end, it->second.end)));
        if (owner.port < 0)
          first = owner;
        wasRead.insert(owner.tag);
        at = it->second.end;
      }
    }
    for (auto [number, items] : llvm::enumerate(either))
      if (wasRead.count(-2 - int(number)))
        wasRead.insert(items.begin(), items.end());
    for (auto [tag, access] : written)
      if (!wasRead.count(tag))
        return fail(tag, access, -1, "writes what nobody reads");
    return true;
  }

  const ArenaProgram &program;
  State state;
  llvm::SmallVector<int64_t, 2> indices;             ///< of the loops around, outermost first
  llvm::SmallVector<std::pair<int, Flight>> flights; ///< by token
  std::set<int> wasRead;                             ///< items
  std::vector<std::set<int>> either;                 ///< items of tags below -1, from -2 down
  std::map<std::set<int>, int> numbers;              ///< those tags
  std::set<std::pair<int, int>> written;             ///< items and accesses that write
  std::optional<ArenaViolation> violation;
};

} // namespace

std::optional<ArenaViolation> checkArena(const ArenaProgram &program) { return Checker(program).run(); }

} // namespace tessera
