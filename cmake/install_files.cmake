# SPDX-License-Identifier: Apache-2.0
# Runs inside `cmake --install`: configuration, units, man pages. file(INSTALL) minds DESTDIR.

# The FULL_ directories of GNUInstallDirs, for the prefix of this very run.
function(full_dir out dir)
  if(IS_ABSOLUTE "${dir}")
    set(${out} "${dir}" PARENT_SCOPE)
  elseif(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND dir STREQUAL "etc")
    set(${out} /etc PARENT_SCOPE)
  else()
    set(${out} "${CMAKE_INSTALL_PREFIX}/${dir}" PARENT_SCOPE)
  endif()
endfunction()

full_dir(sbindir "${sbindir}")
full_dir(confdir "${sysconfdir}")
full_dir(mandir "${mandir}")
full_dir(docdir "${docdir}")
full_dir(libdir lib)
string(APPEND confdir /informerd)

set(script_mode OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(file_mode OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

# Configuration belongs to the administrator: a file that is there is left alone. The daemon refuses
# files and folders that others can write, so modes do not follow the checkout's umask.
file(GLOB_RECURSE configs RELATIVE "${source_dir}/config" "${source_dir}/config/*")
list(FILTER configs EXCLUDE REGEX "(^|/)(\\.|__pycache__)")
foreach(dir "" conf.d hooks)
  file(INSTALL DESTINATION "${confdir}/${dir}" TYPE DIRECTORY FILES ""
    DIRECTORY_PERMISSIONS ${script_mode})
endforeach()
foreach(config IN LISTS configs)
  set(target "${confdir}/${config}")
  cmake_path(GET target PARENT_PATH into)
  if(EXISTS "$ENV{DESTDIR}${target}")
    message(STATUS "Kept: $ENV{DESTDIR}${target}")
  elseif(config MATCHES "^hooks/" AND NOT config MATCHES "\\.jq$")
    file(INSTALL "${source_dir}/config/${config}" DESTINATION "${into}" PERMISSIONS ${script_mode})
  else()
    file(INSTALL "${source_dir}/config/${config}" DESTINATION "${into}" PERMISSIONS ${file_mode})
  endif()
endforeach()

# The unit in the tree is the one for the prefix /usr.
file(READ "${source_dir}/systemd/informerd.service" unit)
string(REPLACE "/usr/sbin/informerd" "${sbindir}/informerd" unit "${unit}")
string(REPLACE "/etc/informerd" "${confdir}" unit "${unit}")
file(WRITE "${scratch_dir}/informerd.service" "${unit}")
file(INSTALL "${scratch_dir}/informerd.service" DESTINATION "${libdir}/systemd/system"
  PERMISSIONS ${file_mode})
file(INSTALL "${source_dir}/systemd/sysusers.d/informerd.conf" DESTINATION "${libdir}/sysusers.d"
  PERMISSIONS ${file_mode})

file(GLOB pages "${source_dir}/packaging/man/*.[1-8]")
foreach(page IN LISTS pages)
  string(REGEX MATCH "[1-8]$" section "${page}")
  file(INSTALL "${page}" DESTINATION "${mandir}/man${section}" PERMISSIONS ${file_mode})
endforeach()
foreach(doc README.md CHANGELOG.md LICENSE)
  if(EXISTS "${source_dir}/${doc}")
    file(INSTALL "${source_dir}/${doc}" DESTINATION "${docdir}" PERMISSIONS ${file_mode})
  endif()
endforeach()
