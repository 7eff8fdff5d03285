# SPDX-License-Identifier: Apache-2.0
# LLHTTP::LLHTTP: the library of libllhttp-dev (Debian 13), else built from the C sources that
# node-llhttp (Debian 12) installs.
find_path(LLHTTP_INCLUDE_DIR llhttp.h PATH_SUFFIXES share/include/llhttp)
find_library(LLHTTP_LIBRARY llhttp)
find_path(LLHTTP_SOURCE_DIR NAMES llhttp.c PATHS /usr/share/llhttp NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
if(LLHTTP_LIBRARY)
  set(from LLHTTP_LIBRARY)
else()
  set(from LLHTTP_SOURCE_DIR)
endif()
find_package_handle_standard_args(LLHTTP REQUIRED_VARS ${from} LLHTTP_INCLUDE_DIR
  REASON_FAILURE_MESSAGE
  "install libllhttp-dev (Debian 13) or node-llhttp (Debian 12) (./dev setup does)")
if(LLHTTP_FOUND AND NOT TARGET LLHTTP::LLHTTP)
  if(LLHTTP_LIBRARY)
    add_library(LLHTTP::LLHTTP INTERFACE IMPORTED)
    target_link_libraries(LLHTTP::LLHTTP INTERFACE ${LLHTTP_LIBRARY})
    target_include_directories(LLHTTP::LLHTTP INTERFACE ${LLHTTP_INCLUDE_DIR})
  else()
    add_library(llhttp STATIC ${LLHTTP_SOURCE_DIR}/api.c ${LLHTTP_SOURCE_DIR}/http.c
      ${LLHTTP_SOURCE_DIR}/llhttp.c)
    target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
    target_compile_options(llhttp PRIVATE -w)
    target_compile_definitions(llhttp PRIVATE LLHTTP_STRICT_MODE=1)
    target_link_libraries(llhttp PRIVATE defences)
    add_library(LLHTTP::LLHTTP ALIAS llhttp)
  endif()
endif()
