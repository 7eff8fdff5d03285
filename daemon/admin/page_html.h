/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_html - the status page as static HTML, for browsers without JavaScript and for the moment before
 * the script has its first answer; pure. Its tables have the classes that daemon/page/page.js uses, so
 * that the change is not seen.
 */
#ifndef ADMIN_PAGE_HTML_H
#define ADMIN_PAGE_HTML_H

struct buf;
struct page_model;

/* Appends the whole document. */
void page_html_put(struct buf *out, const struct page_model *p);

#endif
