/* SPDX-License-Identifier: Apache-2.0 */
#include "state_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "persist/row.h"
#include "state/db.h"
#include "state/table_sum.h"

void state_rig_init(struct state_rig *r)
{
    memset(r, 0, sizeof(*r));
    snprintf(r->path, sizeof(r->path), "state-test-XXXXXX");
    assert_non_null(mkdtemp(r->path));
    if (folder_open(r->path, &r->folder, &r->err) != ERR_OK)
        fail_msg("%s", r->err.text);
    r->writer = writer_create(r->folder, STATE_RIG_LIMIT);
    r->batch.release = persist_row_release;
}

void state_rig_remove(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) != 0) {
            char *inner = mem_printf("%s/%s", path, e->d_name);

            state_rig_remove(inner);
            free(inner);
        }
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
}

void state_rig_fini(struct state_rig *r)
{
    writer_destroy(&r->writer);
    folder_close(&r->folder);
    batch_fini(&r->batch);
    state_rig_remove(r->path);
}

enum err_kind state_rig_try(struct state_rig *r)
{
    struct writer_report report;
    enum err_kind kind = writer_apply(r->writer, &r->batch, &report, &r->err);

    if (kind == ERR_OK)
        batch_clear(&r->batch);
    return kind;
}

void state_rig_apply(struct state_rig *r)
{
    if (state_rig_try(r) != ERR_OK)
        fail_msg("%s", r->err.text);
}

void state_rig_again(struct state_rig *r, uint64_t limit)
{
    writer_destroy(&r->writer);
    r->writer = writer_create(r->folder, limit);
}

/* Reads until the end and closes fd. */
static void read_all(int fd, struct buf *out)
{
    ssize_t n;

    while ((n = read(fd, buf_reserve(out, 1 << 16), 1 << 16)) > 0)
        out->len += (size_t)n;
    assert_int_equal(n, 0);
    close(fd);
}

void state_rig_read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    buf_clear(out);
    if (fd >= 0)
        read_all(fd, out);
}

void state_rig_write_file(const char *path, const struct buf *file)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, file->data, file->len), (ssize_t)file->len);
    close(fd);
}

void state_rig_copy_file(const char *from, const char *to)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    struct buf file = {0};

    assert_true(fd >= 0);
    read_all(fd, &file);
    state_rig_write_file(to, &file);
    buf_free(&file);
}

struct lines {
    char **v;
    size_t n;
};

static void add_line(struct lines *l, struct buf *text)
{
    l->v = mem_realloc(l->v, (l->n + 1) * sizeof(*l->v));
    l->v[l->n++] = mem_strdup(buf_cstr(text));
    buf_free(text);
}

static void on_item(void *arg, const struct row_item *i)
{
    struct buf b = {0};

    buf_printf(&b, "item %" PRIu64 " kind %d parent %" PRIu64 " %.*s", i->id, (int)i->kind,
               i->parent, STR_ARG(i->name));
    if (i->unused_since_s != 0)
        buf_printf(&b, " unused %" PRIu64, i->unused_since_s);
    add_line(arg, &b);
}

static void on_fact(void *arg, const struct row_fact *f)
{
    struct buf b = {0};

    buf_printf(&b, "fact %" PRIu64 " %s [%.*s] %.*s", f->item, row_what_name(f->what),
               STR_ARG(f->key), STR_ARG(f->value));
    add_line(arg, &b);
}

static void put_object(struct buf *b, const struct row_object *o)
{
    buf_printf(b, "%.*s rv %.*s gen %.*s %.*s/%.*s at %d %d", STR_ARG(o->uid), STR_ARG(o->rv),
               STR_ARG(o->generation), STR_ARG(o->api_version), STR_ARG(o->kind), (int)o->rv_at,
               (int)o->generation_at);
    if (o->whole)
        buf_printf(b, " %.*s", STR_ARG(o->body));
    else
        buf_printf(b, " digest %" PRIx64, o->digest.lo);
}

static void on_object(void *arg, uint64_t stream, const struct row_object *o)
{
    struct buf b = {0};

    buf_printf(&b, "object %" PRIu64 " %.*s ", stream, STR_ARG(o->key));
    put_object(&b, o);
    add_line(arg, &b);
}

static void on_delivery(void *arg, const struct row_delivery *m)
{
    struct buf b = {0};

    buf_printf(&b, "mark %" PRIu64 " %.*s %.*s note %u%s", m->source, STR_ARG(m->key),
               STR_ARG(m->uid), (unsigned)m->note, m->attempted ? " open" : "");
    if (m->is_handled)
        buf_printf(&b, " handled %" PRIx64, m->handled.lo);
    if (m->is_delivered)
        buf_printf(&b, " told %" PRIx64, m->delivered.lo);
    if (m->is_ended) {
        buf_puts(&b, " ended ");
        put_object(&b, &m->last);
    }
    add_line(arg, &b);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *state_rig_load(struct state_rig *r, enum loader_found *found)
{
    static const struct loader_sink sink = {on_item, on_fact, on_object, on_delivery};
    struct lines l = {0};
    struct buf out = {0};

    *found = loader_read(r->folder, &sink, &l, &r->err);
    if (l.n > 0)
        qsort(l.v, l.n, sizeof(*l.v), by_text);
    for (size_t i = 0; i < l.n; i++) {
        buf_printf(&out, "%s\n", l.v[i]);
        free(l.v[i]);
    }
    free(l.v);
    char *text = mem_strdup(buf_cstr(&out));
    buf_free(&out);
    return text;
}

bool state_rig_has(struct state_rig *r, const char *part)
{
    enum loader_found found;
    char *text = state_rig_load(r, &found);
    bool has = strstr(text, part) != NULL;

    free(text);
    return has;
}

void state_rig_expect(struct state_rig *r, const char *lines)
{
    enum loader_found found;
    char *text = state_rig_load(r, &found);

    if (found != LOADER_STATE)
        fail_msg("found %d: %s", (int)found, r->err.text);
    assert_string_equal(text, lines);
    free(text);
}

void state_rig_object(struct state_rig *r, uint64_t stream, const char *key, const char *body)
{
    const struct row_object o = {
        .key = str_c(key),
        .uid = str_c("u1"),
        .rv = str_c("7"),
        .api_version = str_c("v1"),
        .kind = str_c("K"),
        .rv_at = 1,
        .generation_at = ROW_NOWHERE,
        .digest = {.lo = 0xabc},
        .body = str_c(body),
        .whole = body != NULL,
    };

    batch_object(&r->batch, stream, &o, NULL);
}

void state_rig_delivery(struct state_rig *r, uint64_t source, const char *key, uint64_t told)
{
    const struct row_delivery m = {
        .source = source,
        .key = str_c(key),
        .uid = str_c("u1"),
        .is_delivered = true,
        .delivered = {.lo = told},
        .attempted = true,
    };

    batch_delivery(&r->batch, &m, NULL);
}

void state_rig_item(struct state_rig *r, uint64_t id, enum row_kind kind, uint64_t parent,
                    const char *name)
{
    const struct row_item item = {.id = id, .kind = kind, .parent = parent, .name = str_c(name)};

    batch_item(&r->batch, &item);
}

void state_rig_sql(struct state_rig *r, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

void state_rig_sql_kept(struct state_rig *r, const char *sql)
{
    struct table_sum table_sum;
    char text[100];
    sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    assert_int_equal(table_sum_follow(db, &table_sum, &r->err), ERR_OK);
    assert_int_equal(db_exec(db, sql, &r->err), ERR_OK);
    snprintf(text, sizeof(text), "UPDATE total SET sum=%" PRId64, (int64_t)table_sum.sum);
    assert_int_equal(db_exec(db, text, &r->err), ERR_OK);
    sqlite3_close(db);
}

struct sqlite3 *state_rig_hold(struct state_rig *r)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

void state_rig_let_go(struct sqlite3 **db)
{
    sqlite3_close(*db);
    *db = NULL;
}
