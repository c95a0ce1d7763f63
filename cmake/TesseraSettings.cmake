# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The base directory makes cache entries valid for a checkout anywhere;
  # the sloppiness lets precompiled headers be cached.
  set(TESSERA_CCACHE ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${TESSERA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Xclang> $<$<COMPILE_LANGUAGE:CXX>:-fno-pch-timestamp>)
endif()

# Results must not depend on the host compiler's freedom to contract or reorder.
add_compile_options(-ffp-contract=off -Wall -Wextra -Wno-unused-parameter -Werror
                    -Wno-error=deprecated-declarations)
if(TESSERA_ASSERTIONS)
  add_compile_options(-UNDEBUG)
endif()
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
