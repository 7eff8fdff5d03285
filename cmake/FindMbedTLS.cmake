# SPDX-License-Identifier: Apache-2.0
# MbedTLS::MbedTLS. Debian 12's package has neither a pkg-config nor a CMake file.
find_path(MBEDTLS_INCLUDE_DIR mbedtls/ssl.h)
foreach(lib mbedtls mbedx509 mbedcrypto)
  find_library(${lib}_LIBRARY ${lib})
  list(APPEND MBEDTLS_LIBRARIES ${${lib}_LIBRARY})
endforeach()
foreach(header version.h build_info.h)
  if(EXISTS ${MBEDTLS_INCLUDE_DIR}/mbedtls/${header})
    file(STRINGS ${MBEDTLS_INCLUDE_DIR}/mbedtls/${header} line
      REGEX "define MBEDTLS_VERSION_STRING " LIMIT_COUNT 1)
    string(APPEND version "${line}")
  endif()
endforeach()
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" MbedTLS_VERSION "${version}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MbedTLS
  REQUIRED_VARS mbedtls_LIBRARY mbedx509_LIBRARY mbedcrypto_LIBRARY MBEDTLS_INCLUDE_DIR
  VERSION_VAR MbedTLS_VERSION
  REASON_FAILURE_MESSAGE "install libmbedtls-dev (./dev setup does)")
if(MbedTLS_FOUND AND NOT TARGET MbedTLS::MbedTLS)
  add_library(MbedTLS::MbedTLS INTERFACE IMPORTED)
  target_include_directories(MbedTLS::MbedTLS INTERFACE ${MBEDTLS_INCLUDE_DIR})
  target_link_libraries(MbedTLS::MbedTLS INTERFACE ${MBEDTLS_LIBRARIES})
endif()
