// For each place in memory, who wrote it last and who read it since.
#ifndef TESSERA_STANDIN_SHADOW_H
#define TESSERA_STANDIN_SHADOW_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace standin {

struct Touch {
  uint32_t thread = 0; // of the launch
  uint32_t time = 0;   // 0: nobody
  uint32_t site = 0;
};

// Two readers are remembered: a write that the first of many readers does not race with races with another
// one, in all but contrived programs.
struct ShadowCell {
  Touch write, reads[2];
};

class Shadow {
public:
  // Calls `visit(cell, address)` for the cells of a range. A page begins with cells of 4 bytes, and gets
  // smaller ones once something smaller is touched in it.
  template <typename Visit> void forCells(uintptr_t address, uint64_t bytes, Visit visit) {
    for (uintptr_t at = address, end = address + bytes; at < end;) {
      uintptr_t stop = std::min(end, (at | (kPageBytes - 1)) + 1);
      Page &page = pageOf(at);
      unsigned shift = ((at | stop) & 1) ? 0 : ((at | stop) & 2) ? 1 : 2;
      if (shift < page.shift || !page.cells)
        refine(page, shift);
      for (; at < stop; at += uintptr_t(1) << page.shift)
        visit(page.cells[(at & (kPageBytes - 1)) >> page.shift], at);
    }
  }
  // What is remembered of a range is forgotten.
  void forget(uintptr_t address, uint64_t bytes) {
    forCells(address & ~uintptr_t(3), (bytes + 7) & ~uint64_t(3),
             [](ShadowCell &cell, uintptr_t) { cell = ShadowCell(); });
  }

private:
  static constexpr uintptr_t kPageBytes = 1024;
  struct Page {
    unsigned shift = 2;
    std::unique_ptr<ShadowCell[]> cells;
  };

  Page &pageOf(uintptr_t address) {
    uintptr_t number = address / kPageBytes;
    if (!last || lastNumber != number) {
      last = &pages[number];
      lastNumber = number;
    }
    return *last;
  }
  static void refine(Page &page, unsigned shift) {
    auto cells = std::make_unique<ShadowCell[]>(kPageBytes >> shift);
    if (page.cells)
      for (uintptr_t at = 0; at < kPageBytes; at += uintptr_t(1) << shift)
        cells[at >> shift] = page.cells[at >> page.shift];
    page.cells = std::move(cells);
    page.shift = shift;
  }

  std::unordered_map<uintptr_t, Page> pages;
  Page *last = nullptr;
  uintptr_t lastNumber = 0;
};

} // namespace standin
#endif
