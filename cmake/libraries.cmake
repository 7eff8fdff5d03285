# SPDX-License-Identifier: Apache-2.0
# The libraries of others, from the distribution and never from this tree. What is missing is said
# with the name of its Debian package.
find_package(PkgConfig REQUIRED)

function(need_module prefix module package)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    message(FATAL_ERROR "${module} was not found: install ${package} (./dev setup does)")
  endif()
  message(STATUS "Found ${module} ${${prefix}_VERSION}")
endfunction()

need_module(UV "libuv>=1.44" libuv1-dev)
need_module(YAJL yajl libyajl-dev)
need_module(LIBCONFIG libconfig libconfig-dev)
need_module(YAML yaml-0.1 libyaml-dev)
need_module(SQLITE "sqlite3>=3.40" libsqlite3-dev)
need_module(XXHASH libxxhash libxxhash-dev)
find_package(MbedTLS REQUIRED)
find_package(LLHTTP REQUIRED)

find_path(UTHASH_INCLUDE_DIR uthash.h)
if(NOT UTHASH_INCLUDE_DIR)
  message(FATAL_ERROR "uthash.h was not found: install uthash-dev (./dev setup does)")
endif()
add_library(uthash INTERFACE)
target_include_directories(uthash SYSTEM INTERFACE ${UTHASH_INCLUDE_DIR})

option(SYSTEMD "Tell systemd when the daemon is ready (libsystemd); used when found" ON)
if(SYSTEMD)
  pkg_check_modules(SYSTEMD QUIET IMPORTED_TARGET GLOBAL libsystemd)
endif()
if(SYSTEMD AND SYSTEMD_FOUND)
  set(SYSTEMD_LIBS PkgConfig::SYSTEMD)
  set(SYSTEMD_DEFINES HAVE_LIBSYSTEMD)
else()
  message(STATUS "Without libsystemd (libsystemd-dev): no READY=1, use Type=simple")
endif()
