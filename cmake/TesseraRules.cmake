# All code generated from .td files; every library of ours waits for it.
add_custom_target(tessera-tablegen)

# tessera_add_td_target(NAME): call after mlir_tablegen(...) lines.
function(tessera_add_td_target name)
  add_public_tablegen_target(${name})
  add_dependencies(tessera-tablegen ${name})
endfunction()

tessera_add_precompiled(tessera_pch precompiled_compiler.h)
tessera_add_precompiled(tessera_unit_pch precompiled_unit.h)
add_dependencies(tessera_pch tessera-tablegen)
add_dependencies(tessera_unit_pch tessera-tablegen)
tessera_quick_to_compile(tessera_unit_pch)
target_link_libraries(tessera_unit_pch PRIVATE GTest::gtest)

# tessera_add_library(NAME sources... [LINK libs...] [MLIR libs...] [NO_PCH])
# A static library of ours. Upstream libraries are named under MLIR (they become libMLIR.so).
function(tessera_add_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK;MLIR" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} tessera-tablegen)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  mlir_target_link_libraries(${name} PUBLIC MLIRIR ${ARG_MLIR})
  target_link_libraries(${name} PUBLIC LLVM) # ADT and Support; libMLIR.so does not pass it on
  if(NOT ARG_NO_PCH)
    tessera_use_precompiled(${name} tessera_pch)
  endif()
endfunction()

# tessera_add_tool(NAME sources... [LINK libs...] [MLIR libs...])
function(tessera_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK;MLIR" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} tessera-tablegen)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  mlir_target_link_libraries(${name} PRIVATE MLIRIR ${ARG_MLIR})
  target_link_libraries(${name} PRIVATE LLVM)
  tessera_use_precompiled(${name} tessera_pch)
endfunction()

# tessera_search_fast(NAME): searches for placements run in the library's loops. Asserts, LLVM's inline ones among them, take a twentieth of their time:
# they stay on below the sanitizers.
function(tessera_search_fast name)
  target_compile_options(${name} PRIVATE -O3)
  if(NOT TESSERA_SANITIZE)
    target_compile_definitions(${name} PRIVATE NDEBUG)
  endif()
endfunction()

# tessera_use_mimalloc(NAME): the search for placements makes millions of small lists; with this allocator it takes a tenth less time. Sanitizers
# bring one of their own.
function(tessera_use_mimalloc name)
  if(NOT TESSERA_SANITIZE AND NOT TESSERA_THREAD_SANITIZER AND NOT TESSERA_FUZZ)
    find_library(TESSERA_MIMALLOC mimalloc REQUIRED)
    target_link_libraries(${name} PRIVATE ${TESSERA_MIMALLOC})
    target_compile_definitions(${name} PRIVATE TESSERA_HAS_MIMALLOC)
  endif()
endfunction()

# tessera_add_unittest(NAME sources... [OPTIMIZED] [LINK libs...]): a GoogleTest binary, run by ctest.
function(tessera_add_unittest name)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "LINK;MLIR" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} tessera-tablegen)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  mlir_target_link_libraries(${name} PRIVATE MLIRIR ${ARG_MLIR})
  target_link_libraries(${name} PRIVATE LLVM)
  if(ARG_OPTIMIZED)
    tessera_use_precompiled(${name} tessera_pch)
  else()
    tessera_quick_to_compile(${name})
    tessera_use_precompiled(${name} tessera_unit_pch)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
