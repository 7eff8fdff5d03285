/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/metrics_out.h"

#include <string.h>

#include "base/visible.h"

#define MS_PER_S 1000U

void metrics_out_family(struct metrics_out *m, const char *name, const char *type, const char *help)
{
    m->name = name;
    buf_printf(m->text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_out_label(struct buf *labels, const char *name, struct str value)
{
    struct buf shown = {0};

    if (labels->len > 0)
        buf_putc(labels, ',');
    buf_puts(labels, name);
    buf_puts(labels, "=\"");
    visible_put(&shown, value);
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.data[i] == '\\' || shown.data[i] == '"')
            buf_putc(labels, '\\');
        buf_putc(labels, shown.data[i]);
    }
    buf_putc(labels, '"');
    buf_free(&shown);
}

/* A thousand watches have tens of thousands of lines: they are put together without printf. */
static void begin(struct metrics_out *m, const char *suffix, struct str labels)
{
    buf_puts(m->text, m->name);
    buf_puts(m->text, suffix);
    if (labels.n == 0)
        return;
    buf_putc(m->text, '{');
    buf_append_str(m->text, labels);
}

static void end(struct metrics_out *m, struct str labels)
{
    buf_puts(m->text, labels.n > 0 ? "} " : " ");
}

/* Seconds without zeros at the end: 0.005, 1.5, 30. */
static void put_seconds(struct buf *out, uint64_t ms)
{
    unsigned rest = (unsigned)(ms % MS_PER_S);

    buf_put_u64(out, ms / MS_PER_S);
    if (rest == 0)
        return;
    buf_putc(out, '.');
    for (unsigned unit = MS_PER_S / 10; rest > 0; unit /= 10) {
        buf_putc(out, (char)('0' + rest / unit));
        rest %= unit;
    }
}

void metrics_out_u64(struct metrics_out *m, struct str labels, uint64_t value)
{
    begin(m, "", labels);
    end(m, labels);
    buf_put_u64(m->text, value);
    buf_putc(m->text, '\n');
}

void metrics_out_seconds(struct metrics_out *m, struct str labels, uint64_t ms)
{
    begin(m, "", labels);
    end(m, labels);
    put_seconds(m->text, ms);
    buf_putc(m->text, '\n');
}

void metrics_out_by(struct metrics_out *m, struct str labels, const char *label, const char *word,
                    uint64_t value)
{
    begin(m, "", labels);
    buf_puts(m->text, labels.n > 0 ? "," : "{");
    buf_puts(m->text, label);
    buf_puts(m->text, "=\"");
    buf_puts(m->text, word);
    buf_puts(m->text, "\"} ");
    buf_put_u64(m->text, value);
    buf_putc(m->text, '\n');
}

static void put_bucket(struct metrics_out *m, struct str labels, size_t bucket, uint64_t count)
{
    begin(m, "_bucket", labels);
    buf_puts(m->text, labels.n > 0 ? ",le=\"" : "{le=\"");
    if (bucket < HISTOGRAM_BOUNDS)
        put_seconds(m->text, histogram_bound_ms(bucket));
    else
        buf_puts(m->text, "+Inf");
    buf_puts(m->text, "\"} ");
    buf_put_u64(m->text, count);
    buf_putc(m->text, '\n');
}

void metrics_out_histogram(struct metrics_out *m, struct str labels, const struct histogram *h,
                           uint64_t sum_ms)
{
    uint64_t so_far = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        so_far += h->count[i];
        put_bucket(m, labels, i, so_far);
    }
    begin(m, "_sum", labels);
    end(m, labels);
    put_seconds(m->text, sum_ms);
    buf_putc(m->text, '\n');
    begin(m, "_count", labels);
    end(m, labels);
    buf_put_u64(m->text, h->total);
    buf_putc(m->text, '\n');
}
