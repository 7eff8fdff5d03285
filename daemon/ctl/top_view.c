/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/top_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "ctl/reader.h"
#include "ctl/tone.h"
#include "ctl/units.h"

/* Columns of the terminal for all but the name, in each of the two tables. */
enum { WATCH_COLUMNS = 51, HOOK_COLUMNS = 54, NAME_MIN = 8 };

/* Lines that are no row: the first one, two headings, two blank ones, the keys. */
enum { OTHER_LINES = 6 };

/* ---- Reading */

/* A number in thousandths. */
static uint64_t thousandths(const struct leaf *leaf)
{
    if (leaf->type != JSON_NUMBER)
        return TOP_UNKNOWN;
    const char *dot = memchr(leaf->text.p, '.', leaf->text.n);
    uint64_t n = reader_whole(leaf);
    size_t digits = 0;

    for (; digits < 3; digits++) {
        const char *digit = dot != NULL ? dot + 1 + digits : NULL;
        bool is_there = digit != NULL && digit < leaf->text.p + leaf->text.n;

        n = n * 10 + (is_there ? (uint64_t)(*digit - '0') : 0);
    }
    return n;
}

static void set(struct buf *b, struct str text)
{
    buf_clear(b);
    visible_put(b, text);
}

/* The watch of this name, made if there is none; the last one, as members of a watch come together. */
static struct top_watch *watch_of(struct top *t, struct str name)
{
    struct top_watch *last = t->watch_count > 0 ? &t->watches[t->watch_count - 1] : NULL;

    if (last != NULL && str_eq(buf_str(&last->row.name), name))
        return last;
    t->watches = mem_realloc(t->watches, (t->watch_count + 1) * sizeof(*t->watches));
    last = &t->watches[t->watch_count++];
    *last = (struct top_watch){.contact_ms = TOP_UNKNOWN, .rate = TOP_UNKNOWN};
    buf_append_str(&last->row.name, name);
    return last;
}

static struct top_hook *hook_of(struct top *t, struct str name)
{
    struct top_hook *last = t->hook_count > 0 ? &t->hooks[t->hook_count - 1] : NULL;

    if (last != NULL && str_eq(buf_str(&last->row.name), name))
        return last;
    t->hooks = mem_realloc(t->hooks, (t->hook_count + 1) * sizeof(*t->hooks));
    last = &t->hooks[t->hook_count++];
    *last =
        (struct top_hook){.oldest_ms = TOP_UNKNOWN, .p50_ms = TOP_UNKNOWN, .p99_ms = TOP_UNKNOWN};
    buf_append_str(&last->row.name, name);
    return last;
}

static void on_watch(struct top_watch *w, const struct leaf *leaf)
{
    if (reader_leads(leaf, 2, "state"))
        set(&w->state, leaf->text);
    else if (reader_leads(leaf, 2, "stale"))
        w->stale = leaf->type == JSON_TRUE;
    else if (reader_leads(leaf, 2, "held"))
        w->held = leaf->type == JSON_TRUE;
    else if (reader_leads(leaf, 2, "events"))
        w->events = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "contact_age_s"))
        w->contact_ms = thousandths(leaf);
    else if (reader_leads(leaf, 2, "objects"))
        w->objects = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "bytes"))
        w->bytes = reader_whole(leaf);
}

static void on_hook(struct top_hook *h, const struct leaf *leaf)
{
    if (reader_leads(leaf, 2, "paused"))
        h->paused = leaf->type == JSON_TRUE;
    else if (reader_leads(leaf, 2, "running"))
        h->running = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "pending"))
        h->pending = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "parked"))
        h->parked = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "runs_failed"))
        h->failed = reader_whole(leaf);
    else if (reader_leads(leaf, 2, "oldest_pending_s"))
        h->oldest_ms = thousandths(leaf);
    else if (reader_leads(leaf, 2, "latency_p50_s"))
        h->p50_ms = thousandths(leaf);
    else if (reader_leads(leaf, 2, "latency_p99_s"))
        h->p99_ms = thousandths(leaf);
}

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct top *t = arg;

    if (reader_leads(leaf, 0, "version"))
        set(&t->version, leaf->text);
    else if (reader_leads(leaf, 0, "started"))
        set(&t->started, leaf->text);
    else if (reader_leads(leaf, 0, "ready"))
        t->ready = leaf->type == JSON_TRUE;
    else if (leaf->depth == 2 && str_is(leaf->path[0], "degraded"))
        t->faults++;
    else if (leaf->depth == 3 && str_is(leaf->path[0], "watches"))
        on_watch(watch_of(t, leaf->path[1]), leaf);
    else if (leaf->depth == 3 && str_is(leaf->path[0], "hooks"))
        on_hook(hook_of(t, leaf->path[1]), leaf);
}

/* The watch as it was; NULL: it was not there. */
static const struct top_watch *earlier(const struct top *before, const struct top_watch *w)
{
    for (size_t i = 0; i < before->watch_count; i++)
        if (str_eq(buf_str(&before->watches[i].row.name), buf_str(&w->row.name)))
            return &before->watches[i];
    return NULL;
}

/* A count that is smaller than before is that of another process. */
static void count_rates(struct top *t, const struct top *before)
{
    uint64_t ms = t->at_ms - before->at_ms;

    for (size_t i = 0; i < t->watch_count; i++) {
        struct top_watch *w = &t->watches[i];
        const struct top_watch *was = earlier(before, w);

        if (was != NULL && w->events >= was->events && ms > 0)
            w->rate = (w->events - was->events) * 1000 * 1000 / ms;
    }
}

enum err_kind top_read(struct top *t, struct str json, uint64_t at_ms, const struct top *before,
                       struct err *err)
{
    *t = (struct top){.at_ms = at_ms};
    if (reader_scan(json, on_leaf, t, err) != ERR_OK)
        return err_wrap(err, "the answer cannot be read");
    count_rates(t, before);
    return ERR_OK;
}

void top_fini(struct top *t)
{
    for (size_t i = 0; i < t->watch_count; i++) {
        buf_free(&t->watches[i].row.name);
        buf_free(&t->watches[i].state);
    }
    for (size_t i = 0; i < t->hook_count; i++)
        buf_free(&t->hooks[i].row.name);
    free(t->watches);
    free(t->hooks);
    buf_free(&t->version);
    buf_free(&t->started);
    *t = (struct top){0};
}

/* ---- Order */

/* The larger ones come first; rows whose value is not known come last. */
static int larger_first(uint64_t a, uint64_t b)
{
    a = a == TOP_UNKNOWN ? 0 : a + 1;
    b = b == TOP_UNKNOWN ? 0 : b + 1;
    return (a < b) - (a > b);
}

static uint64_t weight_of_watch(const struct top_watch *w, enum top_sort sort)
{
    switch (sort) {
    case TOP_BY_ACTIVITY:
        return w->rate;
    case TOP_BY_SIZE:
        return w->bytes;
    case TOP_BY_AGE:
        return w->contact_ms;
    case TOP_BY_FAILURES:
        return (uint64_t)w->stale * 2 + w->held + (uint64_t)!str_is(buf_str(&w->state), "watching");
    case TOP_BY_NAME:
    case TOP_BY_LATENCY:
        break;
    }
    return 0;
}

static uint64_t weight_of_hook(const struct top_hook *h, enum top_sort sort)
{
    switch (sort) {
    case TOP_BY_ACTIVITY:
        return h->running + h->pending;
    case TOP_BY_SIZE:
        return h->pending;
    case TOP_BY_AGE:
        return h->oldest_ms;
    case TOP_BY_FAILURES:
        return h->failed;
    case TOP_BY_LATENCY:
        return h->p99_ms;
    case TOP_BY_NAME:
        break;
    }
    return 0;
}

/* For qsort(): rows of equal weight stand by name. */
static int by_weight(const void *one, const void *other)
{
    const struct top_row *a = one;
    const struct top_row *b = other;
    int by = larger_first(a->weight, b->weight);

    by = by != 0 ? by : str_cmp(buf_str(&a->name), buf_str(&b->name));
    return a->reverse ? -by : by;
}

static void sort(struct top *t, const struct top_look *look)
{
    for (size_t i = 0; i < t->watch_count; i++) {
        t->watches[i].row.weight = weight_of_watch(&t->watches[i], look->sort);
        t->watches[i].row.reverse = look->reverse;
    }
    for (size_t i = 0; i < t->hook_count; i++) {
        t->hooks[i].row.weight = weight_of_hook(&t->hooks[i], look->sort);
        t->hooks[i].row.reverse = look->reverse;
    }
    if (t->watch_count > 0)
        qsort(t->watches, t->watch_count, sizeof(*t->watches), by_weight);
    if (t->hook_count > 0)
        qsort(t->hooks, t->hook_count, sizeof(*t->hooks), by_weight);
}

/* ---- The screen */

/* One line of at most look->columns characters, in this tone. Takes over text. */
static void put_line(struct buf *out, const struct top_look *look, enum tone tone, struct buf *text)
{
    struct str line = buf_str(text);

    while (visible_width(line) > look->columns)
        line = utf8_cut(line, line.n - 1);
    while (line.n > 0 && line.p[line.n - 1] == ' ')
        line.n--;
    tone_put(out, look->colour, tone, line);
    buf_putc(out, '\n');
    buf_free(text);
}

/* A cell of a fixed width, with a space before it. Takes over text. */
static void put_right(struct buf *out, size_t width, struct buf *text)
{
    for (size_t n = visible_width(buf_str(text)); n < width; n++)
        buf_putc(out, ' ');
    buf_putc(out, ' ');
    buf_append_str(out, buf_str(text));
    buf_free(text);
}

/* The name, cut to its column; a cut one ends with '~'. */
static void put_name(struct buf *out, size_t width, struct str name)
{
    struct buf visible = {0};

    visible_put(&visible, name);
    struct str s = buf_str(&visible);
    bool cut = visible_width(s) > width;
    while (visible_width(s) > width - cut)
        s = utf8_cut(s, s.n - 1);
    buf_append_str(out, s);
    for (size_t n = visible_width(s) + cut; n < width; n++)
        buf_putc(out, ' ');
    buf_puts(out, cut ? "~" : "");
    buf_free(&visible);
}

static void put_count(struct buf *out, size_t width, uint64_t n)
{
    struct buf text = {0};

    buf_printf(&text, "%" PRIu64, n);
    put_right(out, width, &text);
}

/* "12ms", "1.5s", then whole units. */
static void put_ms(struct buf *out, size_t width, uint64_t ms)
{
    struct buf text = {0};

    if (ms == TOP_UNKNOWN)
        buf_putc(&text, '-');
    else if (ms < 1000)
        buf_printf(&text, "%" PRIu64 "ms", ms);
    else if (ms < 10000)
        buf_printf(&text, "%" PRIu64 ".%" PRIu64 "s", ms / 1000, ms % 1000 / 100);
    else
        units_put_duration(&text, ms / 1000);
    put_right(out, width, &text);
}

static void put_rate(struct buf *out, size_t width, uint64_t rate)
{
    struct buf text = {0};

    if (rate == TOP_UNKNOWN)
        buf_putc(&text, '-');
    else
        buf_printf(&text, "%" PRIu64 ".%" PRIu64, rate / 1000, rate % 1000 / 100);
    put_right(out, width, &text);
}

static void put_word(struct buf *out, size_t width, struct str word)
{
    struct buf text = {0};

    buf_append_str(&text, word);
    put_right(out, width, &text);
}

static size_t name_width(const struct top_look *look, size_t others)
{
    return look->columns > others + NAME_MIN ? look->columns - others : NAME_MIN;
}

static void put_watch(struct buf *out, const struct top_look *look, const struct top_watch *w)
{
    bool incomplete = str_is(buf_str(&w->state), "incomplete");
    bool bad = w->stale || w->held || incomplete || str_is(buf_str(&w->state), "forbidden");
    struct buf line = {0};
    struct buf size = {0};

    put_name(&line, name_width(look, WATCH_COLUMNS), buf_str(&w->row.name));
    put_word(&line, 10,
             incomplete ? buf_str(&w->state)
             : w->held  ? str_c("held")
             : w->stale ? str_c("stale")
                        : buf_str(&w->state));
    put_rate(&line, 8, w->rate);
    put_ms(&line, 9, w->contact_ms);
    put_count(&line, 8, w->objects);
    units_put_size(&size, w->bytes);
    put_right(&line, 9, &size);
    put_line(out, look, bad ? TONE_BAD : TONE_PLAIN, &line);
}

static void put_hook(struct buf *out, const struct top_look *look, const struct top_hook *h)
{
    struct buf line = {0};

    put_name(&line, name_width(look, HOOK_COLUMNS), buf_str(&h->row.name));
    put_count(&line, 4, h->running);
    put_count(&line, 7, h->pending);
    put_ms(&line, 7, h->oldest_ms);
    if (h->paused)
        put_word(&line, 7, str_c("paused"));
    else
        put_count(&line, 7, h->parked);
    put_count(&line, 7, h->failed);
    put_ms(&line, 6, h->p50_ms);
    put_ms(&line, 6, h->p99_ms);
    put_line(out, look, (h->failed > 0 && h->pending > 0) || h->parked > 0 ? TONE_BAD : TONE_PLAIN,
             &line);
}

static void put_first(struct buf *out, const struct top *t, const struct top_look *look)
{
    static const char *const sorts[] = {"name",   "activity", "size",
                                        "oldest", "failures", "latency"};
    struct buf line = {0};
    int64_t started_s = 0;

    buf_printf(&line, "informerd %.*s", STR_ARG(buf_str(&t->version)));
    if (units_parse_time(buf_str(&t->started), &started_s) && look->now_s >= started_s) {
        buf_puts(&line, ", up ");
        units_put_duration(&line, (uint64_t)(look->now_s - started_s));
    }
    buf_puts(&line, t->ready ? ", ready" : ", not ready");
    if (t->faults > 0)
        buf_printf(&line, ", degraded (%zu): informerctl status", t->faults);
    buf_printf(&line, "; by %s%s", sorts[look->sort], look->reverse ? ", reversed" : "");
    if (look->trouble != NULL) {
        buf_clear(&line);
        visible_put(&line, str_c(look->trouble));
    }
    put_line(out, look, look->trouble != NULL || t->faults > 0 ? TONE_BAD : TONE_HEADING, &line);
}

static void put_watch_headings(struct buf *out, const struct top_look *look)
{
    struct buf line = {0};

    put_name(&line, name_width(look, WATCH_COLUMNS), str_c("WATCH"));
    put_word(&line, 10, str_c("STATE"));
    put_word(&line, 8, str_c("EVENTS/S"));
    put_word(&line, 9, str_c("LAST BYTE"));
    put_word(&line, 8, str_c("OBJECTS"));
    put_word(&line, 9, str_c("SIZE"));
    put_line(out, look, TONE_HEADING, &line);
}

static void put_hook_headings(struct buf *out, const struct top_look *look)
{
    struct buf line = {0};

    put_name(&line, name_width(look, HOOK_COLUMNS), str_c("HOOK"));
    put_word(&line, 4, str_c("RUN"));
    put_word(&line, 7, str_c("PENDING"));
    put_word(&line, 7, str_c("OLDEST"));
    put_word(&line, 7, str_c("PARKED"));
    put_word(&line, 7, str_c("FAILED"));
    put_word(&line, 6, str_c("P50"));
    put_word(&line, 6, str_c("P99"));
    put_line(out, look, TONE_HEADING, &line);
}

/* How many lines each of the two tables gets: each at least half of the lines, or all that it needs. */
static void share(const struct top *t, const struct top_look *look, size_t *watches, size_t *hooks)
{
    size_t room = look->rows > OTHER_LINES ? look->rows - OTHER_LINES : 0;

    *watches = t->watch_count;
    *hooks = t->hook_count;
    if (look->rows == 0 || *watches + *hooks <= room)
        return;
    if (*hooks < room / 2)
        *watches = room - *hooks;
    else if (*watches > room - room / 2)
        *watches = room - room / 2;
    *hooks = room - *watches;
}

/* In the last line of a table that has no room for all of its rows. True: nothing else fits. */
static bool put_rest(struct buf *out, const struct top_look *look, size_t at, size_t lines,
                     size_t n)
{
    struct buf line = {0};

    if (at + 1 < lines || n <= lines)
        return false;
    buf_printf(&line, "... and %zu more", n - at);
    put_line(out, look, TONE_PLAIN, &line);
    return true;
}

void top_put(struct buf *out, struct top *t, const struct top_look *look)
{
    struct buf keys = {0};
    struct buf blank = {0};
    size_t watches;
    size_t hooks;

    sort(t, look);
    share(t, look, &watches, &hooks);
    put_first(out, t, look);
    put_line(out, look, TONE_PLAIN, &blank);
    put_watch_headings(out, look);
    for (size_t i = 0; i < watches && !put_rest(out, look, i, watches, t->watch_count); i++)
        put_watch(out, look, &t->watches[i]);
    put_line(out, look, TONE_PLAIN, &blank);
    put_hook_headings(out, look);
    for (size_t i = 0; i < hooks && !put_rest(out, look, i, hooks, t->hook_count); i++)
        put_hook(out, look, &t->hooks[i]);
    if (look->rows == 0)
        return;
    buf_puts(&keys,
             "q quit; order: n name, a activity, s size, o oldest, f failures, l latency, r");
    put_line(out, look, TONE_PLAIN, &keys);
}

bool top_take_key(struct top_look *look, char key)
{
    static const char keys[] = "nasofl"; /* in the order of enum top_sort */
    const char *at = key != '\0' ? strchr(keys, key) : NULL;

    if (at != NULL)
        look->sort = (enum top_sort)(at - keys);
    look->reverse = key == 'r' ? !look->reverse : look->reverse && at == NULL;
    return at != NULL || key == 'r';
}
