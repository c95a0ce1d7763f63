# tessera_library(NAME SOURCES ... LINK ... [PRIVATE_LINK ...] [INCLUDE ...])
# One folder is one library. LINK names what its public headers use; the link
# graph is what test/unit/LinkGraph checks against the layer diagram.
function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK;INCLUDE;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_BINARY_DIR}/include ${ARG_INCLUDE})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES ${name})
endfunction()
