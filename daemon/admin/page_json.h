/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_json - the content of the status page for its script (daemon/page/page.js); pure. It is made for
 * that one reader, whose version it has, and may change with each release: programs read /metrics,
 * /healthz?format=json and informerctl status -o json.
 */
#ifndef ADMIN_PAGE_JSON_H
#define ADMIN_PAGE_JSON_H

struct buf;
struct page_model;

/* Appends one object and a newline. Times are in ms: wall_ms, ended_ms since 1970, others are
 * durations. */
void page_json_put(struct buf *out, const struct page_model *p);

#endif
