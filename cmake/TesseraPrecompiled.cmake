# Precompiled headers: a third to a half of what files cost to compile is upstream's headers. The runtime's files include what they use all the same.

# tessera_add_precompiled(NAME HEADER): an object library that owns HEADER's precompiled form. Whoever reuses it compiles with the same options.
function(tessera_add_precompiled name header)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}_owner.cpp "// Owner of a precompiled header.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}_owner.cpp)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
endfunction()

# tessera_use_precompiled(TARGET NAME)
function(tessera_use_precompiled target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
endfunction()

# tessera_quick_to_compile(TARGET): of tests' own code most costs more to optimize than to run. Tests that compute much themselves say OPTIMIZED.
function(tessera_quick_to_compile target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
