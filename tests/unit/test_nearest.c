/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *nearest(const char *word)
{
    static const char *const candidates[] = {"status", "watches", "get",       "hooks", "runs",
                                             "run",    "relist",  "log-level", "wait",  "top"};
    struct nearest n = {.word = word};

    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
        nearest_try(&n, candidates[i]);
    return n.found != NULL ? n.found : "-";
}

static void test_the_nearest_word(void **state)
{
    static const struct {
        const char *word;
        const char *found;
    } rows[] = {
        {"stauts",    "status"   }, /* swapped */
        {"statsu",    "status"   },
        {"staus",     "status"   }, /* missing */
        {"statuss",   "status"   }, /* too many */
        {"statos",    "status"   }, /* wrong */
        {"xtatos",    "status"   }, /* two */
        {"watch",     "watches"  }, /* the beginning */
        {"log",       "log-level"},
        {"loglevel",  "log-level"},
        {"rnu",       "run"      }, /* as near as runs is not */
        {"ru",        "runs"     }, /* both begin so: the first one */
        {"relsit",    "relist"   },
        {"xtatox",    "-"        }, /* three */
        {"xyt",       "-"        }, /* two of three */
        {"s",         "-"        }, /* too little to guess from */
        {"",          "-"        },
        {"reconcile", "-"        },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(nearest(rows[i].word), rows[i].found);
}

static void test_words_of_any_length(void **state)
{
    char word[200];

    (void)state;
    for (size_t n = 0; n < sizeof(word); n++) {
        memset(word, 'x', sizeof(word));
        word[n] = '\0';
        assert_string_equal(nearest(word), "-");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_word),
        cmocka_unit_test(test_words_of_any_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
