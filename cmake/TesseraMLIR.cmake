# LLVM and MLIR for the dialects and the compiler; never used by LLVM-free targets.
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_library(tessera_mlir_headers INTERFACE)
target_include_directories(tessera_mlir_headers SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tessera_mlir_headers INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(tessera_mlir_headers INTERFACE -fno-rtti)
target_link_libraries(tessera_mlir_headers INTERFACE MLIR LLVM)

# tessera_mlir_library(NAME SOURCES ... LINK ... [DEPENDS tablegen targets] [PCH headers])
# A compiler library: a tessera_library with MLIR's headers, the shared libMLIR
# and a precompiled header (a pass then compiles in a second or two, not nine).
function(tessera_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS;PCH;INCLUDE" ${ARGN})
  tessera_library(${name} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK} tessera_mlir_headers
                  INCLUDE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${ARG_INCLUDE}
                  DEPENDS ${ARG_DEPENDS})
  if(ARG_PCH)
    target_precompile_headers(${name} PRIVATE ${ARG_PCH})
  endif()
endfunction()

# tessera_dialect(Name prefix): Name##Dialect.td/Ops.td in the current folder →
# .inc files beside the build's dialects/Name; ops, types, attributes, enums.
function(tessera_dialect name prefix)
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  list(TRANSFORM MLIR_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE mlirInc)
  set(inc -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include ${mlirInc})
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls ${inc})
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs ${inc})
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${prefix} ${inc})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${prefix} ${inc})
  mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${prefix} ${inc})
  mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${prefix} ${inc})
  mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${prefix} ${inc})
  mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${prefix} ${inc})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls ${inc})
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs ${inc})
  add_public_tablegen_target(tessera_${prefix}_incgen)
endfunction()
