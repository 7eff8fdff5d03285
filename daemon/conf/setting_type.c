/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_type.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/mem.h"
#include "base/panic.h"
#include "conf/setting_item.h"

static void read_str(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    const char *text = setting_item_text(r, s, e, "a string in quotes");
    struct conf_str *v = slot;

    if (text == NULL)
        return;
    int64_t n = (int64_t)strlen(text); /* 0 is allowed unless min says otherwise: "" is not set */
    if (n < s->min) {
        setting_item_report(r, e, " must not be empty");
    } else if (s->max > 0 && n > s->max) {
        setting_item_report(r, e, " is too long: %" PRId64 " bytes, at most %" PRId64, n, s->max);
    } else if (n == 0 || setting_item_passes(r, s, e, text)) {
        free(v->v);
        v->v = mem_strdup(text);
    }
}

static void fini_str(void *slot)
{
    free(((struct conf_str *)slot)->v);
}

static void read_bool(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    (void)s;
    if (config_setting_type(e) == CONFIG_TYPE_BOOL)
        ((struct conf_bool *)slot)->v = config_setting_get_bool(e) == CONFIG_TRUE;
    else
        setting_item_mismatch(r, e, "true or false");
}

static void read_int(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    int64_t n = 0;

    if (setting_item_whole(r, s, e, &n))
        ((struct conf_int *)slot)->v = n;
}

/* A number may stand without a point: 2 is as good as 2.0. */
static void read_num(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    if (!config_setting_is_number(e)) {
        setting_item_mismatch(r, e, "a number without quotes, such as 2.0");
        return;
    }
    double x = config_setting_type(e) == CONFIG_TYPE_FLOAT ? config_setting_get_float(e)
                                                           : (double)config_setting_get_int64(e);
    if (!isfinite(x) || x < (double)s->min || x > (double)s->max)
        setting_item_report(r, e, ": %g is out of range: %" PRId64 " to %" PRId64, x, s->min,
                            s->max);
    else
        ((struct conf_num *)slot)->v = x;
}

static void read_ms(const struct setting_reader *r, const struct setting *s, void *slot,
                    const config_setting_t *e)
{
    uint64_t ms = 0;

    if (setting_item_duration(r, s, e, &ms))
        ((struct conf_ms *)slot)->v = ms;
}

static void read_size(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    uint64_t bytes = 0;

    if (setting_item_size(r, s, e, &bytes))
        ((struct conf_size *)slot)->v = bytes;
}

static void read_word(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    int i = setting_item_word(r, s, e);

    if (i >= 0)
        ((struct conf_word *)slot)->v = i;
}

static void read_code(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    const char *text = setting_item_text(r, s, e, "a string in quotes");

    if (text != NULL && !s->code(text, &((struct conf_int *)slot)->v))
        setting_item_report(r, e, ": \"%.40s\" is not %s", text, s->expects);
}

/* Is e an array [ ] or a list ( )? Reports if not. libconfig knows both, and users mix them up. */
static bool is_array(const struct setting_reader *r, const config_setting_t *e, const char *expects)
{
    int type = config_setting_type(e);
    bool ok = type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST;

    if (!ok)
        setting_item_mismatch(r, e, expects);
    return ok;
}

/* The number of elements if e is an array or a list with as many elements as the row allows; -1
 * after a report. */
static int length_of(const struct setting_reader *r, const struct setting *s,
                     const config_setting_t *e, const char *expects)
{
    if (!is_array(r, e, expects))
        return -1;
    int n = config_setting_length(e);
    if (n >= s->min && n <= s->max)
        return n;
    if (n == 0)
        setting_item_report(r, e, " must not be empty");
    else
        setting_item_report(r, e, " has %d elements, %" PRId64 " to %" PRId64 " are allowed", n,
                            s->min, s->max);
    return -1;
}

/* A word that is given twice counts once. One bad word leaves the old value, but all bad words are
 * reported. */
static void read_words(const struct setting_reader *r, const struct setting *s, void *slot,
                       const config_setting_t *e)
{
    int n = length_of(r, s, e, "an array of words, such as [ \"added\" ]");
    bool ok = n >= 0;
    unsigned mask = 0;

    for (int i = 0; i < n; i++) {
        int word = setting_item_word(r, s, config_setting_get_elem(e, (unsigned)i));

        if (word >= 0)
            mask |= 1u << (unsigned)word;
        ok = ok && word >= 0;
    }
    if (ok)
        ((struct conf_words *)slot)->v = mask;
}

static void fini_list(void *slot)
{
    struct conf_list *list = slot;

    for (size_t i = 0; i < list->n; i++)
        free(list->v[i].v);
    free(list->v);
}

/* Appends the string of one element if it is good. */
static void append_item(const struct setting_reader *r, const struct setting *s,
                        struct conf_list *list, const config_setting_t *e)
{
    const char *text = setting_item_text(r, s, e, "a string in quotes");

    if (text != NULL && setting_item_passes(r, s, e, text))
        list->v[list->n++] = (struct conf_str){setting_item_place(r, e), mem_strdup(text)};
}

static void read_list(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    int n = length_of(r, s, e, "an array of strings, such as [ \"a\", \"b\" ]");
    struct conf_list new = {0};

    if (n < 0)
        return;
    if (n > 0)
        new.v = mem_array((size_t)n, sizeof(*new.v));
    for (int i = 0; i < n; i++)
        append_item(r, s, &new, config_setting_get_elem(e, (unsigned)i));
    /* One bad element spoils the list: a hook with half of its arguments would do something
     * else. */
    if (new.n < (size_t)n) {
        fini_list(&new);
        return;
    }
    fini_list(slot);
    *(struct conf_list *)slot = new;
}

static void fini_ints(void *slot)
{
    free(((struct conf_ints *)slot)->v);
}

static bool holds(const struct conf_ints *ints, int64_t n)
{
    for (size_t i = 0; i < ints->n; i++)
        if (ints->v[i].v == n)
            return true;
    return false;
}

/* Appends the number of one element if it is good and new. */
static void append_int(const struct setting_reader *r, const struct setting *s,
                       struct conf_ints *ints, const config_setting_t *e)
{
    int64_t n = 0;

    if (!setting_item_whole(r, s, e, &n))
        return;
    if (holds(ints, n))
        setting_item_report(r, e, ": %" PRId64 " stands there twice", n);
    else
        ints->v[ints->n++] = (struct conf_int){setting_item_place(r, e), n};
}

/* As read_list(); min and max of the row bound the numbers here, not how many there are. */
static void read_ints(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    struct conf_ints new = {0};

    if (!is_array(r, e, "an array of whole numbers, such as [ 1, 2 ]"))
        return;
    int n = config_setting_length(e);
    if (n > 0)
        new.v = mem_array((size_t)n, sizeof(*new.v));
    for (int i = 0; i < n; i++)
        append_int(r, s, &new, config_setting_get_elem(e, (unsigned)i));
    if (new.n < (size_t)n) {
        fini_ints(&new);
        return;
    }
    fini_ints(slot);
    *(struct conf_ints *)slot = new;
}

static void read_span(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    static const char expects[] = "an array of two durations, such as [ \"200ms\", \"2s\" ]";
    struct conf_span *span = slot;
    uint64_t from = 0;
    uint64_t to = 0;

    if (!is_array(r, e, expects))
        return;
    if (config_setting_length(e) != 2)
        setting_item_report(r, e, " must be %s", expects);
    else if (!setting_item_duration(r, s, config_setting_get_elem(e, 0), &from) ||
             !setting_item_duration(r, s, config_setting_get_elem(e, 1), &to))
        return;
    else if (from > to)
        setting_item_report(r, e, ": the first duration must not be longer than the second");
    else
        *span = (struct conf_span){.min_ms = from, .max_ms = to};
}

static void fini_map(void *slot)
{
    struct conf_map *map = slot;

    for (size_t i = 0; i < map->n; i++) {
        free(map->v[i].name);
        free(map->v[i].value);
    }
    free(map->v);
}

/* Appends one NAME = "value" if name and value are good; libconfig lets no name stand twice. */
static void append_pair(const struct setting_reader *r, const struct setting *s,
                        struct conf_map *map, const config_setting_t *e)
{
    const char *name = config_setting_name(e);
    const char *wrong = s->check_name != NULL ? s->check_name(name) : NULL;
    const char *text = setting_item_text(r, s, e, "a string in quotes");

    if (wrong != NULL)
        setting_item_report(r, e, ": the name %s", wrong);
    if (wrong != NULL || text == NULL || !setting_item_passes(r, s, e, text))
        return;
    map->v[map->n++] =
        (struct conf_pair){setting_item_place(r, e), mem_strdup(name), mem_strdup(text)};
}

static void read_map(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    struct conf_map new = {0};

    if (config_setting_type(e) != CONFIG_TYPE_GROUP) {
        setting_item_mismatch(r, e, "a group of strings, such as { NAME = \"value\"; }");
        return;
    }
    size_t n = (size_t)config_setting_length(e);
    if (n > 0)
        new.v = mem_array(n, sizeof(*new.v));
    for (unsigned i = 0; i < n; i++)
        append_pair(r, s, &new, config_setting_get_elem(e, i));
    if (new.n < n) {
        fini_map(&new);
        return;
    }
    fini_map(slot);
    *(struct conf_map *)slot = new;
}

static const struct {
    void (*read)(const struct setting_reader *r, const struct setting *s, void *slot,
                 const config_setting_t *e);
    void (*fini)(void *slot); /* NULL = a value of this type owns no memory */
} types[] = {
    [SETTING_STR] = {read_str,   fini_str },
      [SETTING_BOOL] = {read_bool,  NULL     },
    [SETTING_INT] = {read_int,   NULL     },
      [SETTING_NUM] = {read_num,   NULL     },
    [SETTING_MS] = {read_ms,    NULL     },
      [SETTING_SIZE] = {read_size,  NULL     },
    [SETTING_WORD] = {read_word,  NULL     },
      [SETTING_WORDS] = {read_words, NULL     },
    [SETTING_CODE] = {read_code,  NULL     },
      [SETTING_LIST] = {read_list,  fini_list},
    [SETTING_INTS] = {read_ints,  fini_ints},
      [SETTING_SPAN] = {read_span,  NULL     },
    [SETTING_MAP] = {read_map,   fini_map },
};

void setting_type_read(const struct setting_reader *r, const struct setting *s, void *slot,
                       const struct config_setting_t *e)
{
    ensure((size_t)s->type < ARRAY_LEN(types));
    types[s->type].read(r, s, slot, e);
    /* Behind the reader, which may have replaced the whole value. A refused value gets the place,
     * too, for problems_has(). */
    *(struct where *)slot = setting_item_place(r, e);
}

void setting_type_fini(const struct setting *s, void *slot)
{
    ensure((size_t)s->type < ARRAY_LEN(types));
    if (types[s->type].fini != NULL)
        types[s->type].fini(slot);
}
