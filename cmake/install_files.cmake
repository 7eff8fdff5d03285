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

full_dir(bindir "${bindir}")
full_dir(sbindir "${sbindir}")
full_dir(confdir "${sysconfdir}")
full_dir(mandir "${mandir}")
full_dir(docdir "${docdir}")
full_dir(libdir lib)
string(APPEND confdir /informerd)

set(script_mode OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(file_mode OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

# Paths in the tree are those of the prefix /usr.
function(install_text from into)
  file(READ "${source_dir}/${from}" text)
  string(REPLACE "/usr/sbin/informerd" "${sbindir}/informerd" text "${text}")
  string(REPLACE "/usr/bin/informerctl" "${bindir}/informerctl" text "${text}")
  string(REPLACE "/usr/lib/informerd" "${libdir}/informerd" text "${text}")
  string(REPLACE "/usr/share/doc/informerd" "${docdir}" text "${text}")
  string(REPLACE "/etc/informerd" "${confdir}" text "${text}")
  cmake_path(GET from FILENAME name)
  file(WRITE "${scratch_dir}/${name}" "${text}")
  file(INSTALL "${scratch_dir}/${name}" DESTINATION "${into}" PERMISSIONS ${file_mode})
endfunction()

# Configuration belongs to the administrator: a file that is there is left alone, and an installation
# that has its main file gets no cluster beside the one that it may already have. The daemon refuses
# files and folders that others can write, so modes do not follow the checkout's umask.
foreach(dir "" conf.d hooks)
  file(INSTALL DESTINATION "${confdir}/${dir}" TYPE DIRECTORY FILES ""
    DIRECTORY_PERMISSIONS ${script_mode})
endforeach()
set(configs conf.d/README)
if(EXISTS "$ENV{DESTDIR}${confdir}/informerd.conf")
  message(STATUS "Kept: $ENV{DESTDIR}${confdir}")
else()
  list(APPEND configs informerd.conf conf.d/10-cluster.conf)
endif()
foreach(config IN LISTS configs)
  cmake_path(GET config PARENT_PATH into)
  install_text("config/etc/${config}" "${confdir}/${into}")
endforeach()

# The examples and the programs that they start.
install_text(config/informerd.conf "${docdir}/examples")
file(GLOB examples RELATIVE "${source_dir}" "${source_dir}/config/conf.d/*.conf.example"
  "${source_dir}/systemd/informerd.service.d/*.conf")
foreach(example IN LISTS examples)
  install_text("${example}" "${docdir}/examples")
endforeach()
# Paths in these are those of the image.
file(INSTALL "${source_dir}/packaging/container/" DESTINATION "${docdir}/examples/container"
  FILE_PERMISSIONS ${file_mode} DIRECTORY_PERMISSIONS ${script_mode})
file(GLOB hooks "${source_dir}/config/hooks/*")
foreach(hook IN LISTS hooks)
  if(hook MATCHES "\\.jq$")
    file(INSTALL "${hook}" DESTINATION "${libdir}/informerd/hooks" PERMISSIONS ${file_mode})
  else()
    file(INSTALL "${hook}" DESTINATION "${libdir}/informerd/hooks" PERMISSIONS ${script_mode})
  endif()
endforeach()

# For Prometheus and Grafana, which mostly run on another machine.
file(GLOB observability RELATIVE "${source_dir}" "${source_dir}/packaging/observability/*")
foreach(file IN LISTS observability)
  install_text("${file}" "${docdir}/observability")
endforeach()

install_text(systemd/informerd.service "${libdir}/systemd/system")
file(INSTALL "${source_dir}/systemd/sysusers.d/informerd.conf" DESTINATION "${libdir}/sysusers.d"
  PERMISSIONS ${file_mode})

file(GLOB pages "${source_dir}/packaging/man/*.[1-8]")
foreach(page IN LISTS pages)
  string(REGEX MATCH "[1-8]$" section "${page}")
  file(INSTALL "${page}" DESTINATION "${mandir}/man${section}" PERMISSIONS ${file_mode})
endforeach()
# Debian's zsh looks below /usr in vendor-completions, below /usr/local in site-functions.
full_dir(datadir "${datadir}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_dir zsh/vendor-completions)
else()
  set(zsh_dir zsh/site-functions)
endif()
file(INSTALL "${source_dir}/packaging/completion/informerctl.bash" RENAME informerctl
  DESTINATION "${datadir}/bash-completion/completions" PERMISSIONS ${file_mode})
file(INSTALL "${source_dir}/packaging/completion/_informerctl"
  DESTINATION "${datadir}/${zsh_dir}" PERMISSIONS ${file_mode})
# The manual. Its pages refer to each other by their paths in the tree.
foreach(doc README.md CHANGELOG.md SECURITY.md LICENSE)
  file(INSTALL "${source_dir}/${doc}" DESTINATION "${docdir}" PERMISSIONS ${file_mode})
endforeach()
file(INSTALL "${source_dir}/docs/" DESTINATION "${docdir}/docs" FILE_PERMISSIONS ${file_mode}
  DIRECTORY_PERMISSIONS ${script_mode} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
