/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_files - the files of daemon/page, which the build puts into the program (cmake/page_file.cmake).
 * The bytes are followed by a 0.
 */
#ifndef ADMIN_PAGE_FILES_H
#define ADMIN_PAGE_FILES_H

#include "base/str.h"

/* The frame of the page, with a comment where its content goes. */
struct str page_file_html(void);

/* The style sheet. */
struct str page_file_css(void);

/* The script that keeps the page up to date. */
struct str page_file_js(void);

/* The icon. */
struct str page_file_svg(void);

#endif
