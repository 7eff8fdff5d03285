/* SPDX-License-Identifier: Apache-2.0 */
#include "app/access_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/visible.h"

struct row {
    size_t block;
    enum access_verdict verdict;
    char *what;
    char *text;
};

struct access_report {
    char **headings;
    size_t n_blocks;
    struct row
        *rows; /* in the order of access_report_add(): mixed, as servers answer side by side */
    size_t n_rows;
};

struct access_report *access_report_create(void)
{
    return mem_zalloc(sizeof(struct access_report));
}

void access_report_destroy(struct access_report **rp)
{
    struct access_report *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    for (size_t i = 0; i < r->n_blocks; i++)
        free(r->headings[i]);
    for (size_t i = 0; i < r->n_rows; i++) {
        free(r->rows[i].what);
        free(r->rows[i].text);
    }
    free(r->headings);
    free(r->rows);
    free(r);
}

/* A copy that a terminal shows on one line. */
static char *visible(const char *text)
{
    struct buf out = {0};

    visible_put(&out, str_c(text));
    char *copy = mem_strdup(buf_cstr(&out));
    buf_free(&out);
    return copy;
}

size_t access_report_add_block(struct access_report *r, const char *heading)
{
    r->headings = mem_grow(r->headings, r->n_blocks, sizeof(*r->headings));
    r->headings[r->n_blocks] = visible(heading);
    return r->n_blocks++;
}

void access_report_add(struct access_report *r, size_t block, enum access_verdict verdict,
                       const char *what, const char *text)
{
    ensure(block < r->n_blocks);
    r->rows = mem_grow(r->rows, r->n_rows, sizeof(*r->rows));
    r->rows[r->n_rows++] = (struct row){block, verdict, visible(what), visible(text)};
}

/* Pads to the longest verdict. */
static const char *word_of(enum access_verdict verdict)
{
    static const char *const words[ACCESS_VERDICTS] = {
        [ACCESS_OK] = "ok     ",      [ACCESS_NOT_OK] = "not ok ",  [ACCESS_WARNING] = "warning",
        [ACCESS_UNKNOWN] = "unknown", [ACCESS_SKIPPED] = "skipped",
    };

    return words[verdict];
}

static size_t width_of(const struct access_report *r)
{
    size_t width = 0;

    for (size_t i = 0; i < r->n_rows; i++) {
        size_t n = visible_width(str_c(r->rows[i].what));

        width = n > width ? n : width;
    }
    return width;
}

static size_t count(const struct access_report *r, enum access_verdict verdict)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_rows; i++)
        n += r->rows[i].verdict == verdict;
    return n;
}

/* The line at the end. Rows that were skipped stand for no check of their own. */
static void put_sum(struct buf *out, const struct access_report *r)
{
    size_t bad = count(r, ACCESS_NOT_OK);
    size_t warnings = count(r, ACCESS_WARNING);
    size_t unknown = count(r, ACCESS_UNKNOWN);
    size_t checks = r->n_rows - count(r, ACCESS_SKIPPED);

    if (bad > 0)
        buf_printf(out, "not ok: %zu of %zu checks", bad, checks);
    else
        buf_printf(out, "ok: %zu check%s", checks, checks == 1 ? "" : "s");
    if (warnings > 0)
        buf_printf(out, ", %zu warning%s", warnings, warnings == 1 ? "" : "s");
    if (unknown > 0)
        buf_printf(out, ", %zu not decidable", unknown);
    buf_putc(out, '\n');
}

void access_report_put(struct buf *out, const struct access_report *r)
{
    size_t width = width_of(r);

    for (size_t block = 0; block < r->n_blocks; block++) {
        buf_printf(out, "%s\n", r->headings[block]);
        for (size_t i = 0; i < r->n_rows; i++) {
            const struct row *row = &r->rows[i];
            size_t fill = width - visible_width(str_c(row->what));

            if (row->block == block)
                buf_printf(out, "  %s  %s%*s  %s\n", word_of(row->verdict), row->what, (int)fill,
                           "", row->text);
        }
        buf_putc(out, '\n');
    }
    put_sum(out, r);
}

bool access_report_is_ok(const struct access_report *r)
{
    return count(r, ACCESS_NOT_OK) == 0;
}
