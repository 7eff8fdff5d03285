/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/access_review.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "kube/selector.h"
#include "proto/json_member.h"
#include "proto/json_pick.h"

/* An API server authorizes a LIST or watch with the field selector metadata.name=NAME as one of
 * that object. */
static struct str name_of(const struct access_review *r)
{
    return r->name[0] != '\0' ? str_c(r->name) : selector_exact_field(r->fields, "metadata.name");
}

static void put_text(struct json_out *j, const char *key, struct str text)
{
    if (text.n > 0)
        json_member_str(j, key, text);
}

/* rawSelector is the text of the query, which the server parses as that of a request. (A list of
 * requirements in its place could not say `greater than`.) A server before 1.31 does not know these
 * members and ignores them; its authorizers do not look at selectors either. */
static void put_selector(struct json_out *j, const char *key, const char *selector)
{
    if (selector[0] == '\0')
        return;
    json_out_key(j, key);
    json_out_open(j, '{');
    json_member_text(j, "rawSelector", selector);
    json_out_close(j, '}');
}

static void put_attributes(struct json_out *j, const struct access_review *r)
{
    json_out_key(j, "resourceAttributes");
    json_out_open(j, '{');
    json_member_text(j, "verb", r->verb);
    put_text(j, "group", str_c(r->group));
    put_text(j, "version", str_c(r->version));
    json_member_text(j, "resource", r->plural);
    put_text(j, "namespace", str_c(r->ns));
    put_text(j, "name", name_of(r));
    put_selector(j, "labelSelector", r->labels);
    put_selector(j, "fieldSelector", r->fields);
    json_out_close(j, '}');
}

void access_review_put(struct buf *out, const struct access_review *r)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_text(&j, "apiVersion", "authorization.k8s.io/v1");
    json_member_text(&j, "kind", "SelfSubjectAccessReview");
    json_out_key(&j, "spec");
    json_out_open(&j, '{');
    put_attributes(&j, r);
    json_out_close(&j, '}');
    json_out_close(&j, '}');
}

void access_review_put_text(struct buf *out, const struct access_review *r)
{
    buf_printf(out, "%s %s", r->verb, r->plural);
    if (r->group[0] != '\0')
        buf_printf(out, ".%s", r->group);
    if (r->name[0] != '\0')
        buf_printf(out, " \"%s\"", r->name);
    if (r->ns[0] != '\0')
        buf_printf(out, " in namespace %s", r->ns);
    else if (r->namespaced)
        buf_puts(out, " in all namespaces");
    if (r->labels[0] != '\0' || r->fields[0] != '\0')
        buf_printf(out, " (%s%s%s%s%s)", r->labels[0] != '\0' ? "labelSelector " : "", r->labels,
                   r->labels[0] != '\0' && r->fields[0] != '\0' ? ", " : "",
                   r->fields[0] != '\0' ? "fieldSelector " : "", r->fields);
}

/* The reason stands first. evaluationError says what kept an authorizer from deciding, such as a
 * role that is missing. */
static void explain(struct access_answer *out, struct str reason, struct str trouble)
{
    struct buf text = {0};

    buf_append_str(&text, reason);
    buf_puts(&text, reason.n > 0 && trouble.n > 0 ? "; " : "");
    buf_append_str(&text, trouble);
    struct str cut = utf8_cut(buf_str(&text), sizeof(out->why) - 1);
    snprintf(out->why, sizeof(out->why), "%.*s", STR_ARG(cut));
    buf_free(&text);
}

enum err_kind access_review_read(struct str body, struct access_answer *out, struct err *err)
{
    struct json_tree t = {.text = body};
    enum err_kind kind = ERR_OK;

    if (json_tree_read(&t, err) != ERR_OK) {
        kind = err_set(err, ERR_PROTOCOL, 0, "the answer is not JSON");
    } else {
        unsigned status = json_pick(&t, 0, "status");
        unsigned allowed = json_pick(&t, status, "allowed");
        bool is_review = str_is(json_pick_str(&t, 0, "kind"), "SelfSubjectAccessReview");

        if (!is_review || allowed == JSON_PICK_NONE) {
            kind = err_set(err, ERR_PROTOCOL, 0, "the answer is no SelfSubjectAccessReview");
        } else {
            out->allowed = json_pick_bool(&t, status, "allowed", false);
            explain(out, json_pick_str(&t, status, "reason"),
                    json_pick_str(&t, status, "evaluationError"));
        }
    }
    json_tree_free(&t);
    return kind;
}

bool access_review_is_unknown(const struct err *err)
{
    return err->kind == ERR_NOT_FOUND || err->kind == ERR_NO_VERB;
}
