/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_out - writes HTML into a buffer; pure. Only constants of the program come in as markup; every
 * other text is escaped.
 */
#ifndef ADMIN_HTML_OUT_H
#define ADMIN_HTML_OUT_H

#include "base/buf.h"

/* Appends a text, fit for an element and for an attribute in double quotes. Bytes that HTML cannot have
 * (control characters) become U+FFFD. */
void html_out_text(struct buf *out, struct str text);

/* Appends <tag class="CLASS">TEXT</tag>; class_name is a constant, NULL = none. */
void html_out_element(struct buf *out, const char *tag, const char *class_name, struct str text);

#endif
