#include "AllOrders.h"

namespace tessera::test {

namespace {

/// Buffers 0 to 2 are 16 bytes each, 3 is a stack of six layers of 8 bytes, 4 a parameter.
constexpr int kStack = 3, kParameter = 4;
constexpr int64_t kLayers = 6;

class Drawer {
public:
  Drawer(std::mt19937 &random, const RandomOrderOptions &options) : random(random), options(options) {
    for (int i = 0; i < 3; ++i)
      program.buffers.push_back({16 * i, 16, 0});
    program.buffers.push_back({48, 8 * kLayers, 0});
    program.buffers.push_back({0, 16, 1});
    program.bytes = 48 + 8 * kLayers;
  }

  ArenaProgram draw() {
    // Most programs begin and end as they should.
    if (options.events && below(8)) {
      event(program.items, 0, 0, true);
      for (int stream = 1; stream < options.streams; ++stream)
        event(program.items, stream, 0, false);
    }
    block(program.items, 3 + below(5));
    if (options.events && below(8))
      for (int stream = 1; stream < options.streams; ++stream) {
        event(program.items, stream, 5 + stream, true);
        event(program.items, 0, 5 + stream, false);
      }
    return std::move(program);
  }

private:
  int below(int n) { return int(random() % unsigned(n)); }

  ArenaItem &item(std::vector<ArenaItem> &items) {
    items.emplace_back();
    items.back().tag = tags++;
    items.back().op.mayBeUnread = true;
    return items.back();
  }
  void event(std::vector<ArenaItem> &items, int stream, int number, bool records) {
    ArenaOp &op = item(items).op;
    op.stream = stream;
    (records ? op.records : op.awaits) = number;
  }

  ArenaAccess access() {
    ArenaAccess made;
    made.mode = below(2) ? AccessMode::Read : AccessMode::Write;
    made.buffer = below(4) ? below(3) : below(2) ? kStack : kParameter;
    if (options.layers && below(2))
      made.buffer = kStack;
    made.bytes = program.buffers[size_t(made.buffer)].bytes;
    if (made.buffer == kStack && below(4)) {
      made.bytes = 8;
      ArenaIndex index{{}, below(2)};
      if (options.layers && depth > 0) {
        int at = below(depth);
        // Layers of the reversed loop end at the last one.
        bool reversed = below(4) == 0;
        index = {{{at, reversed ? -1 : 1}}, reversed ? 3 + below(2) : below(3)};
      }
      made.layers.push_back({index, kLayers, 8});
    } else if (made.buffer < 3 && below(4) == 0) {
      made.bytes = 8;
    }
    return made;
  }

  void work(std::vector<ArenaItem> &items) {
    ArenaOp &op = item(items).op;
    op.stream = below(options.streams);
    for (int i = 0, n = 1 + below(2); i < n; ++i)
      op.accesses.push_back(access());
    op.communicates = options.communicates && below(3) == 0;
    if (options.flights && below(4) == 0) {
      op.starts = tokens++;
      open.push_back(op.starts);
    }
  }
  void end(std::vector<ArenaItem> &items) {
    ArenaOp &op = item(items).op;
    op.stream = below(options.streams);
    op.waitsFor = {open.back()};
    open.pop_back();
  }

  void block(std::vector<ArenaItem> &items, int length) {
    size_t opened = open.size();
    for (int i = 0; i < length; ++i) {
      int kind = below(10);
      if (options.events && kind < 4) {
        event(items, below(options.streams), below(4), below(2));
      } else if (options.loops && kind == 4 && depth < 2) {
        auto loop = std::make_unique<ArenaLoop>();
        loop->most = 1 + below(depth ? 2 : 4);
        loop->least = below(2) ? loop->most : below(int(loop->most) + 1);
        loop->step = loop->least == loop->most && below(4) == 0 ? 2 : 1;
        ++depth;
        block(loop->body, 1 + below(depth == 1 ? 4 : 2));
        --depth;
        item(items).loop = std::move(loop);
      } else if (open.size() > opened && kind < 7) {
        end(items);
      } else {
        work(items);
      }
    }
    while (open.size() > opened)
      end(items);
  }

  std::mt19937 &random;
  const RandomOrderOptions &options;
  ArenaProgram program;
  int tags = 0, tokens = 0, depth = 0;
  std::vector<int> open;
};

} // namespace

ArenaProgram randomOrderProgram(std::mt19937 &random, const RandomOrderOptions &options) {
  return Drawer(random, options).draw();
}

} // namespace tessera::test
