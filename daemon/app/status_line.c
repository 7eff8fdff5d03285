/* SPDX-License-Identifier: Apache-2.0 */
#include "app/status_line.h"

#include <stdio.h>
#include <string.h>

#include "app/notify.h"

/* Each message to systemd wakes it up, so an equal line is not sent again. */
void status_line_tell(struct status_line *s, const struct sources *sources, size_t n_hooks,
                      uint64_t now_ms)
{
    size_t n_watches = sources_watch_count(sources);
    size_t synced = 0;
    size_t trouble = 0;
    char text[sizeof(s->told)];

    for (size_t i = 0; i < n_watches; i++) {
        struct watch_status w = watch_status(sources_watches(sources)[i].watch, now_ms);

        synced += w.synced;
        trouble += w.err->kind != ERR_OK;
    }
    int n = snprintf(text, sizeof(text), "%zu of %zu watches synced, %zu failing, %zu hooks",
                     synced, n_watches, trouble, n_hooks);
    if (n < 0 || strcmp(text, s->told) == 0)
        return;
    memcpy(s->told, text, sizeof(text));
    notify_status(text);
}
