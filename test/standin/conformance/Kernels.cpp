#include "Kernels.h"

// The PTX of kernels.c, and a zero.
asm(".section .rodata\n"
    "conformance_ptx:\n"
    ".incbin \"" CONFORMANCE_PTX "\"\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char conformance_ptx[];

namespace conformance {

const char *kernelsPtx() { return conformance_ptx; }

Kernels::Kernels() { OK(api().cuModuleLoadDataEx(&module, kernelsPtx(), 0, nullptr, nullptr)); }
Kernels::~Kernels() { api().cuModuleUnload(module); }

CUfunction Kernels::operator[](const char *name) const {
  CUfunction function = nullptr;
  OK(api().cuModuleGetFunction(&function, module, name));
  return function;
}

} // namespace conformance
