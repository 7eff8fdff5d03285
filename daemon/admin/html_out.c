/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/html_out.h"

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
        return (unsigned char)c < ' ' && c != '\n' && c != '\t' ? "&#xfffd;" : NULL;
    }
}

void html_out_text(struct buf *out, struct str text)
{
    size_t plain = 0; /* where the bytes begin that need no escape */

    for (size_t i = 0; i < text.n; i++) {
        const char *instead = escaped(text.p[i]);

        if (instead == NULL)
            continue;
        buf_append(out, text.p + plain, i - plain);
        buf_puts(out, instead);
        plain = i + 1;
    }
    buf_append(out, text.p + plain, text.n - plain);
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
