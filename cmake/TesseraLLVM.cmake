# Finds LLVM/MLIR 22 and takes over their flags. Order matters: see the comments.
find_package(MLIR REQUIRED CONFIG)
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
# A raw add_definitions() garbles the quoted list.
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
find_program(TESSERA_LIT lit HINTS /usr/lib/llvm-22/bin REQUIRED)
find_program(LLVM_TABLEGEN_EXE llvm-tblgen HINTS /usr/lib/llvm-22/bin REQUIRED) # option tables; MLIR's own is set above
find_program(TESSERA_FILECHECK FileCheck HINTS /usr/lib/llvm-22/bin REQUIRED)
