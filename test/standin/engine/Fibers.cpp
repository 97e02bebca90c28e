#include "Fibers.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

// Only what a callee must preserve is saved; the compiler has already put aside the rest at the call. A
// return ends it, so that the processor's guesses at where returns go stay right as long as threads wait at
// one place.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl standin_switch
  .hidden standin_switch
  .type standin_switch, @function
standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size standin_switch, .-standin_switch
)");
#else
#error "the stand-in's fibers know x86-64 only"
#endif

namespace standin {

Stacks::~Stacks() {
  for (Stack *stack : all_) {
    munmap(stack->memory, kBytes);
    delete stack;
  }
}

Stack *Stacks::take() {
  if (!free_.empty()) {
    Stack *stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void *memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0) {
    std::fprintf(stderr,
                 "stand-in: cannot get a stack for a thread (%zu of them): mmap failed; allow more memory\n",
                 all_.size());
    std::abort();
  }
  auto *stack = new Stack;
  stack->memory = static_cast<char *>(memory);
  stack->top = stack->memory + kBytes - (all_.size() % 12) * 320;
  all_.push_back(stack);
  return stack;
}

void *startOf(const Stack &stack, void (*main)()) {
  // Six registers, the address that the switch returns to, and a null return address for `main`, whose stack
  // pointer is then 8 below a multiple of 16, as after a call.
  auto *words = reinterpret_cast<uint64_t *>(reinterpret_cast<uintptr_t>(stack.top) & ~uintptr_t(15)) - 8;
  for (int i = 0; i < 8; ++i)
    words[i] = 0;
  words[6] = reinterpret_cast<uint64_t>(main);
  return words;
}

} // namespace standin
