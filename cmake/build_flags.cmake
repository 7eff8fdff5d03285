# SPDX-License-Identifier: Apache-2.0
# What everything of ours is compiled with: `build_flags` (our code), `defences` (also code that
# is not ours but ends up in our programs).
include(CheckCCompilerFlag)

# -fPIE and not CMake's own property, which makes -fPIC of it in static libraries: that keeps
# functions from being inlined.
add_library(defences INTERFACE)
target_compile_options(defences INTERFACE -fPIE)
target_link_options(defences INTERFACE -pie)
add_library(build_flags INTERFACE)
target_link_libraries(build_flags INTERFACE defences)
target_compile_definitions(build_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Wswitch-enum -Wundef
  $<$<BOOL:${WARNINGS_AS_ERRORS}>:-Werror>)

if(SANITIZE)
  target_compile_options(build_flags INTERFACE -fsanitize=${SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(build_flags INTERFACE -fsanitize=${SANITIZE})
  # clang reports NULL + 0, which an empty struct str gives: C2y defines it, and gcc does not report it.
  if(FUZZ)
    target_compile_options(build_flags INTERFACE -fno-sanitize=pointer-overflow)
  endif()
endif()

if(COVERAGE)
  target_compile_options(build_flags INTERFACE --coverage -fprofile-update=atomic)
  add_library(gcov_exit STATIC ${CMAKE_CURRENT_LIST_DIR}/gcov_exit.c)
  target_link_libraries(build_flags INTERFACE gcov_exit)
  target_link_options(build_flags INTERFACE --coverage -Wl,--wrap=_exit)
endif()

# The leak checker ends by a process that traces this one, and gcov writes its counts where the program was built: main
# may do neither in its sandbox.
if(SANITIZE OR COVERAGE)
  set(SANDBOX_DEFINES NO_SANDBOX)
endif()

if(HARDENING)
  # Level 3 needs gcc 12 or clang 9; without optimisation the C library only warns.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
    set(fortify 2)
  else()
    set(fortify 3)
  endif()
  target_compile_options(defences INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)
  target_link_options(defences INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  # Each exists on some processors only.
  foreach(flag -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
      target_compile_options(defences INTERFACE ${flag})
    endif()
  endforeach()
endif()
