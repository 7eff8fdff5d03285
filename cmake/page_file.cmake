# SPDX-License-Identifier: Apache-2.0
# cmake -D FROM=daemon/page/page.css -D TO=page_css.c -D NAME=css -P page_file.cmake
# Writes the function page_file_NAME() of daemon/admin/page_files.h, which returns the bytes of a file.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(.....................................................................................)"
  "\\1\n    " bytes "${bytes}")
file(WRITE ${TO} "/* Made of ${NAME}. */
#include \"admin/page_files.h\"

static const char bytes[] = {
    ${bytes} 0};

struct str page_file_${NAME}(void)
{
    return str_of(bytes, sizeof(bytes) - 1);
}
")
