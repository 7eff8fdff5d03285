/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/html_out.h"

#include "base/visible.h"

static const char *escaped(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_out_text(struct buf *out, struct str text)
{
    struct buf shown = {0};
    size_t plain = 0; /* where the bytes begin that need no escape */

    visible_put(&shown, text);
    for (size_t i = 0; i < shown.len; i++) {
        const char *instead = escaped(shown.data[i]);

        if (instead == NULL)
            continue;
        buf_append(out, shown.data + plain, i - plain);
        buf_puts(out, instead);
        plain = i + 1;
    }
    if (shown.len > plain)
        buf_append(out, shown.data + plain, shown.len - plain);
    buf_free(&shown);
}

void html_out_element(struct buf *out, const char *tag, const char *class_name, struct str text)
{
    if (class_name != NULL)
        buf_printf(out, "<%s class=\"%s\">", tag, class_name);
    else
        buf_printf(out, "<%s>", tag);
    html_out_text(out, text);
    buf_printf(out, "</%s>", tag);
}
