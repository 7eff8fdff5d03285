/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig_wait - tells when a kubeconfig that did not exist is there: informerd may be installed before
 * `kubeadm join` has written it; driver. The helper looks, as main may not read the folder, and reports
 * changes (helper/file_watch). Once in five minutes it looks again all the same, because some file
 * systems report no changes.
 */
#ifndef APP_KUBECONFIG_WAIT_H
#define APP_KUBECONFIG_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_access_list;
struct helper_link;
struct kubeconfig_wait;
struct loop;

/* path, borrowed: a kubeconfig that is there now, though perhaps not readable; or that was, and is gone
 * again. Comes again when the file has changed, and every five minutes while it is there, until
 * kubeconfig_wait_set() is called: the reload may have failed for another reason. From the loop; must not
 * dispose the object. */
typedef void kubeconfig_wait_cb(void *arg, const char *path, bool is_there);

/* loop and link must outlive the object. Never NULL; release with kubeconfig_wait_dispose(). */
struct kubeconfig_wait *kubeconfig_wait_create(struct loop *loop, struct helper_link *link,
                                               kubeconfig_wait_cb *on_change, void *arg);

/* From now on these files are awaited: those that clusters of the list await. The helper must know the
 * list, and the numbers of its files. *next_tag is the first tag that no file has had; it is moved on. */
void kubeconfig_wait_set(struct kubeconfig_wait *k, const struct cluster_access_list *list,
                         uint64_t *next_tag);

/* on_opened() of struct helper_link_events. False: the tag is not of this object, or not any more; fd is
 * still the caller's. */
bool kubeconfig_wait_opened(struct kubeconfig_wait *k, uint64_t tag, int fd, int error);

/* on_changed() of struct helper_link_events; the file need not be one that is awaited. */
void kubeconfig_wait_changed(struct kubeconfig_wait *k, uint32_t file);

/* The end for the user: *k is NULL, and no event comes any more. NULL is fine. */
void kubeconfig_wait_dispose(struct kubeconfig_wait **k);

#endif
