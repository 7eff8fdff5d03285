/* SPDX-License-Identifier: Apache-2.0 */
/* Random objects: the result is the input without managedFields and one comma. */
#include "campaign.h"
#include "scan_probe.h"

#include <string.h>

static struct gen gen;
static struct buf want;

/* White space and a comma in it, unless this is the first member. */
static void gen_separator(struct buf *out, bool first)
{
    buf_clear(&gen.text);
    gen_space(&gen);
    if (!first)
        buf_putc(&gen.text, ',');
    gen_space(&gen);
    buf_append_str(out, buf_str(&gen.text));
}

static void gen_member(struct buf *out, const char *key, const char *value)
{
    buf_clear(&gen.text);
    ref_clear(&gen.tokens);
    buf_printf(&gen.text, "\"%s\"", key);
    gen_space(&gen);
    buf_putc(&gen.text, ':');
    gen_space(&gen);
    if (value != NULL)
        buf_puts(&gen.text, value);
    else
        gen_value(&gen, 0, 3);
    buf_append_str(out, buf_str(&gen.text));
}

/* Appends metadata to text, and the part of it that must be left to want. */
static void gen_metadata(struct buf *text, const char *rv, const char *generation)
{
    const char *members[][2] = {
        {"name",            "\"a\""   },
        {"namespace",       "\"n\""   },
        {"resourceVersion", rv        },
        {"managedFields",   NULL      },
        {"generation",      generation},
        {"labels",          NULL      },
    };
    struct buf separator = {0};
    struct buf member = {0};
    bool kept_one = false;
    bool cut_first = false;

    for (size_t i = ARRAY_LEN(members), k; i > 1; i--) {
        const char *swap[2] = {members[i - 1][0], members[i - 1][1]};

        k = gen_below(&gen, i);
        memcpy(members[i - 1], members[k], sizeof(swap));
        memcpy(members[k], swap, sizeof(swap));
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        bool cut = strcmp(members[i][0], "managedFields") == 0;

        buf_clear(&separator);
        buf_clear(&member);
        gen_separator(&separator, i == 0);
        gen_member(&member, members[i][0], members[i][1]);
        buf_append_str(text, buf_str(&separator));
        buf_append_str(text, buf_str(&member));
        cut_first = cut_first || (cut && !kept_one);
        if (cut)
            continue;
        if (cut_first && !kept_one) /* the white space before the comma was cut with it */
            buf_puts(&want, strchr(buf_cstr(&separator), ',') + 1);
        else
            buf_append_str(&want, buf_str(&separator));
        buf_append_str(&want, buf_str(&member));
        kept_one = true;
    }
    buf_free(&separator);
    buf_free(&member);
}

static void gen_object(struct buf *text, uint64_t seed, const char *rv, const char *generation)
{
    rng_seed(&gen.rng, seed);
    buf_clear(text);
    buf_clear(&want);
    buf_puts(text, "{");
    gen_member(text, "spec", NULL);
    gen_separator(text, false);
    buf_puts(text, "\"metadata\":{");
    buf_append_str(&want, buf_str(text));
    gen_metadata(text, rv, generation);
    size_t tail = text->len;
    gen_separator(text, true);
    buf_puts(text, "}");
    gen_separator(text, false);
    gen_member(text, "kind", "\"K\"");
    buf_puts(text, "}");
    buf_append(&want, text->data + tail, text->len - tail);
}

static struct object *scan_text(const struct buf *text, size_t first, size_t piece)
{
    struct object *o = NULL;

    scan_feed(buf_str(text), first, piece);
    assert_int_equal(object_scan_end(scan, (struct str){0}, (struct str){0}, &o), OBJECT_SCAN_OK);
    scan_assert_json(o, buf_cstr(&want));
    return o;
}

static void test_random_objects(void **state)
{
    struct buf text = {0};

    (void)state;
    for (uint64_t seed = 0; seed < campaign_size(80, 400); seed++) {
        gen_object(&text, seed, "\"12\"", "3");
        struct object *o = scan_text(&text, text.len, 1);
        for (size_t cut = 0; cut < text.len; cut++) {
            struct object *cut_one = scan_text(&text, cut, text.len);

            assert_true(object_same(o, cut_one));
            object_unref(&cut_one);
        }
        struct object *bytewise = scan_text(&text, 1, 1);
        assert_true(object_same(o, bytewise));
        gen_object(&text, seed, "\"98765\"", "44");
        struct object *later = scan_text(&text, 7, 7);
        assert_true(object_same(o, later));
        object_unref(&o);
        object_unref(&bytewise);
        object_unref(&later);
    }
    buf_free(&text);
    buf_free(&want);
    gen_free(&gen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_objects),
    };

    return cmocka_run_group_tests(tests, scan_set_up, scan_clean_up);
}
