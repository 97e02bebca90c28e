#include "Dnnl.h"
#include "Bfloat16Unit.h"
#include "tessera/runtime/core/Error.h"

#include <dlfcn.h>
#include <string>

namespace tessera::runtime {

static void *openDnnl() {
  void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::string why = dlerror();
    bool isMissing = why.find("No such file") != std::string::npos;
    throw Error("cannot open oneDNN", "libdnnl.so.2", why,
                isMissing ? "install it: apt-get install libdnnl2"
                          : "give the process more of what it lacks");
  }
  return library;
}

static Dnnl load() {
  bfloat16Unit(); // oneDNN sees the tiles of AMX where this process was given them
  void *library = openDnnl();
  Dnnl dnnl;
  auto symbol = [&](const char *name) {
    void *address = dlsym(library, name);
    if (!address)
      throw Error("cannot use oneDNN", "libdnnl.so.2", std::string("it lacks ") + name,
                  "install version 2.6: apt-get install libdnnl2");
    return address;
  };
#define TESSERA_DNNL_LOAD(name) dnnl.name = reinterpret_cast<decltype(dnnl.name)>(symbol("dnnl_" #name));
  TESSERA_DNNL_SYMBOLS(TESSERA_DNNL_LOAD)
#undef TESSERA_DNNL_LOAD
  // We keep our own primitives; the library's cache would hold memory nobody counts.
  dnnl.set_primitive_cache_capacity(0);
  if (dnnl.engine_create(&dnnl.engine, dnnl_cpu, 0) != dnnl_success)
    throw Error("cannot use oneDNN", "libdnnl.so.2", "it has no CPU engine");
  return dnnl;
}

Dnnl &Dnnl::table() {
  static Dnnl dnnl = load();
  return dnnl;
}

bool hasBfloat16Products() { return bfloat16Unit() != Bfloat16Unit::None; }

void keepDnnlSingleThreaded() {
  // The setting is one of each thread. libgomp comes with oneDNN; other OpenMP runtimes answer to the same
  // name.
  static void *library = openDnnl();
  static auto setThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  if (setThreads)
    setThreads(1);
}

} // namespace tessera::runtime
