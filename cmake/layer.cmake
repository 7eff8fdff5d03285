# SPDX-License-Identifier: Apache-2.0

# layer(NAME [USES layer...] [LIBS library...] [DEFINES definition...])
# A static library of daemon/NAME/*.c without main.c. It finds the headers of the layers that it
# names and of no others: its include path holds, per layer, a folder with one link to that layer.
# LIBS stay private: the layer is their only home. A folder without sources is passed over.
function(layer name)
  cmake_parse_arguments(PARSE_ARGV 1 L "" "" "USES;LIBS;DEFINES")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/daemon/${name}/*.c)
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/daemon/${name}/main.c)

  set(view ${PROJECT_BINARY_DIR}/view/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/daemon/${name} ${view}/${name} SYMBOLIC)
  set_property(GLOBAL APPEND PROPERTY all_views ${view})

  if(NOT sources)
    message(STATUS "daemon/${name} has no sources yet")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY all_layers ${name})
  add_library(${name} STATIC ${sources})
  list(TRANSFORM L_USES PREPEND ${PROJECT_BINARY_DIR}/view/ OUTPUT_VARIABLE views)
  target_include_directories(${name} PRIVATE ${view} ${views})
  target_compile_definitions(${name} PRIVATE ${L_DEFINES})
  target_link_libraries(${name} PRIVATE build_flags ${L_LIBS})
  foreach(used IN LISTS L_USES)
    if(TARGET ${used})
      target_link_libraries(${name} PUBLIC ${used})
    endif()
  endforeach()
endfunction()

# program(NAME MAIN LAYER DIR): an executable of MAIN and a layer, which sees what that layer sees;
# installed into DIR.
function(program name main layer dir)
  file(GLOB source CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${main})
  if(NOT TARGET ${layer} OR NOT source)
    message(STATUS "${name} cannot be built yet")
    return()
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${layer},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${layer},COMPILE_DEFINITIONS>)
  target_link_libraries(${name} PRIVATE ${layer} build_flags)
  install(TARGETS ${name} RUNTIME DESTINATION ${dir})
endfunction()
