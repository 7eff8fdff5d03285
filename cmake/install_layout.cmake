# SPDX-License-Identifier: Apache-2.0
# Where everything but the programs goes. The rest of the work is done at install time, because
# `cmake --install --prefix` may still change the prefix.
install(CODE "
  set(source_dir \"${PROJECT_SOURCE_DIR}\")
  set(bindir \"${CMAKE_INSTALL_BINDIR}\")
  set(sbindir \"${CMAKE_INSTALL_SBINDIR}\")
  set(sysconfdir \"${CMAKE_INSTALL_SYSCONFDIR}\")
  set(mandir \"${CMAKE_INSTALL_MANDIR}\")
  set(datadir \"${CMAKE_INSTALL_DATADIR}\")
  set(docdir \"${CMAKE_INSTALL_DOCDIR}\")
  set(scratch_dir \"${PROJECT_BINARY_DIR}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_files.cmake\")
")
