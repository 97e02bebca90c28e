// Stacks and the switch between them: about 17 ns, where ucontext, which saves the signal mask by a system
// call, takes 300.
#ifndef TESSERA_STANDIN_FIBERS_H
#define TESSERA_STANDIN_FIBERS_H

#include <cstddef>
#include <vector>

namespace standin {

// Saves the running stack's pointer into `*save` and goes on where `to` was saved.
extern "C" void standin_switch(void **save, void *to);

struct Stack {
  char *memory = nullptr; // its lowest page is a guard
  void *top =
      nullptr; // not all at one offset in their pages, or they would share the same lines of the cache
};

// The stacks of one host thread. Never given back before the thread ends.
class Stacks {
public:
  ~Stacks();
  Stack *take();
  void put(Stack *stack) { free_.push_back(stack); }
  static constexpr size_t kBytes = 256 << 10;

private:
  std::vector<Stack *> free_, all_;
};

// The pointer to switch to so that `main` starts on an empty stack; it must never return.
void *startOf(const Stack &stack, void (*main)());

} // namespace standin
#endif
