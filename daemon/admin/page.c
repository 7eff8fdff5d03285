/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/page.h"

#include "admin/call.h"
#include "admin/page_files.h"
#include "admin/page_html.h"
#include "admin/page_json.h"
#include "admin/page_model.h"

/* The browser takes nothing from elsewhere, runs no script that stands in the page, sends nothing
 * anywhere, and shows the page in no frame. require-trusted-types-for: a text cannot become markup. */
#define HEADERS                                                                          \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " \
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "          \
    "frame-ancestors 'none'; require-trusted-types-for 'script'\r\n"                     \
    "X-Content-Type-Options: nosniff\r\n"                                                \
    "Referrer-Policy: no-referrer\r\n"                                                   \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                      \
    "Cache-Control: no-store\r\n"

static void begin(struct call *c, const char *type)
{
    c->out->content_type = type;
    c->out->headers = HEADERS;
}

void page_answer_html(struct call *c)
{
    struct page_model p;

    begin(c, "text/html; charset=utf-8");
    page_model_init(&p, c->m, c->now_ms);
    page_html_put(&c->out->body, &p);
    page_model_fini(&p);
}

void page_answer_json(struct call *c)
{
    struct page_model p;

    begin(c, CALL_JSON);
    page_model_init(&p, c->m, c->now_ms);
    page_json_put(&c->out->body, &p);
    page_model_fini(&p);
}

static void answer_file(struct call *c, const char *type, struct str bytes)
{
    begin(c, type);
    buf_append_str(&c->out->body, bytes);
}

void page_answer_css(struct call *c)
{
    answer_file(c, "text/css; charset=utf-8", page_file_css());
}

void page_answer_js(struct call *c)
{
    answer_file(c, "text/javascript; charset=utf-8", page_file_js());
}

void page_answer_svg(struct call *c)
{
    answer_file(c, "image/svg+xml", page_file_svg());
}
