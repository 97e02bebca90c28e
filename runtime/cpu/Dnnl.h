// oneDNN, opened at run time through a table of the symbols we use.
#ifndef TESSERA_RUNTIME_CPU_DNNL_H
#define TESSERA_RUNTIME_CPU_DNNL_H

#include <oneapi/dnnl/dnnl.h>

namespace tessera::runtime {

#define TESSERA_DNNL_SYMBOLS(X)                                                                              \
  X(engine_create)                                                                                           \
  X(stream_create)                                                                                           \
  X(stream_destroy)                                                                                          \
  X(memory_desc_init_by_strides)                                                                             \
  X(memory_desc_init_by_tag)                                                                                 \
  X(memory_desc_get_size)                                                                                    \
  X(memory_create)                                                                                           \
  X(memory_destroy)                                                                                          \
  X(memory_set_data_handle)                                                                                  \
  X(matmul_desc_init)                                                                                        \
  X(primitive_attr_create)                                                                                   \
  X(primitive_attr_destroy)                                                                                  \
  X(primitive_attr_set_scratchpad_mode)                                                                      \
  X(primitive_attr_set_post_ops)                                                                             \
  X(post_ops_create)                                                                                         \
  X(post_ops_append_sum)                                                                                     \
  X(post_ops_destroy)                                                                                        \
  X(primitive_desc_create)                                                                                   \
  X(primitive_desc_destroy)                                                                                  \
  X(primitive_desc_query)                                                                                    \
  X(primitive_desc_query_md)                                                                                 \
  X(primitive_create)                                                                                        \
  X(primitive_destroy)                                                                                       \
  X(primitive_execute)                                                                                       \
  X(set_primitive_cache_capacity)

struct Dnnl {
#define TESSERA_DNNL_MEMBER(name) decltype(&dnnl_##name) name;
  TESSERA_DNNL_SYMBOLS(TESSERA_DNNL_MEMBER)
#undef TESSERA_DNNL_MEMBER
  dnnl_engine_t engine; // the CPU

  // Opens libdnnl.so.2 on the first call. Throws Error if it or one of the symbols is missing.
  static const Dnnl &get() { return table(); }
  // For tests, which put functions of their own in place of oneDNN's.
  static Dnnl &table();
};

// This machine multiplies bfloat16 (Bfloat16Unit.h).
bool hasBfloat16Products();

// libgomp, which oneDNN brings along, must not start a team of its own: call once on every thread that runs
// primitives.
void keepDnnlSingleThreaded();

} // namespace tessera::runtime
#endif
