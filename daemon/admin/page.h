/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - the status page for people with a browser (docs/page.md): its HTML, its content as JSON, and
 * its files; pure. Nothing can be ordered through it.
 */
#ifndef ADMIN_PAGE_H
#define ADMIN_PAGE_H

struct call;

/* Answers GET /: the whole state as static tables, which the script replaces. */
void page_answer_html(struct call *c);

/* Answers GET /page.json (admin/page_json). */
void page_answer_json(struct call *c);

/* Answers GET /page.css, /page.js and /page.svg. */
void page_answer_css(struct call *c);
/* The script. */
void page_answer_js(struct call *c);
/* The icon. */
void page_answer_svg(struct call *c);

#endif
