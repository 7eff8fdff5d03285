/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/tone.h"

#include <string.h>

/* The cells that have a tone, by heading and text. ANYTHING: each text but those that say nothing. */
#define ANYTHING NULL

static const struct {
    const char *heading;
    const char *text;
    enum tone tone;
} cells[] = {
    {"EXPIRES", "expired",   TONE_BAD  },
    {"STATE",   "failed",    TONE_BAD  },
    {"STATE",   "forbidden", TONE_BAD  },
    {"STATE",   "backoff",   TONE_WAITS},
    {"STATE",   "waiting",   TONE_WAITS},
    {"STATE",   "listing",   TONE_WAITS},
    {"SYNCED",  "no",        TONE_WAITS},
    {"STALE",   "yes",       TONE_BAD  },
    {"HELD",    ANYTHING,    TONE_BAD  },
    {"PARKED",  ANYTHING,    TONE_BAD  },
    {"PAUSED",  "yes",       TONE_WAITS},
    {"PENDING", ANYTHING,    TONE_WAITS},
};

bool tone_says_something(const char *text)
{
    return strcmp(text, "-") != 0 && strcmp(text, "0") != 0 && strcmp(text, "no") != 0;
}

enum tone tone_of_cell(const char *heading, const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        if (strcmp(cells[i].heading, heading) != 0)
            continue;
        if (cells[i].text == ANYTHING ? tone_says_something(text)
                                      : strcmp(cells[i].text, text) == 0)
            return cells[i].tone;
    }
    return TONE_PLAIN;
}

void tone_put(struct buf *out, bool colour, enum tone tone, struct str text)
{
    static const char *const begins[] = {[TONE_PLAIN] = "",
                                         [TONE_HEADING] = "\x1b[1m",
                                         [TONE_WAITS] = "\x1b[33m",
                                         [TONE_BAD] = "\x1b[31m"};
    bool coloured = colour && tone != TONE_PLAIN && text.n > 0;

    buf_puts(out, coloured ? begins[tone] : "");
    buf_append_str(out, text);
    buf_puts(out, coloured ? "\x1b[0m" : "");
}
