/* SPDX-License-Identifier: Apache-2.0 */
#include "play_names.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

enum { NAMES_MAX = 8, ADDRESSES_BYTES = 4096 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t go;
    bool hangs;
    unsigned begun;
    size_t n;
    struct {
        char name[64];
        char addresses[ADDRESSES_BYTES];
    } v[NAMES_MAX];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER};

/* libuv calls this one in place of the C library's. */
int play_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                     struct addrinfo **out) __asm__("getaddrinfo");

typedef int getaddrinfo_fn(const char *name, const char *service, const struct addrinfo *hints,
                           struct addrinfo **out);

static bool is_played(const char *name)
{
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".test") == 0;
}

void play_names_set(const char *name, const char *addresses)
{
    size_t i = 0;

    ensure(is_played(name));
    pthread_mutex_lock(&names.lock);
    while (i < names.n && strcmp(names.v[i].name, name) != 0)
        i++;
    ensure(i < NAMES_MAX);
    if (i == names.n)
        names.n++;
    (void)snprintf(names.v[i].name, sizeof(names.v[i].name), "%s", name);
    ensure((size_t)snprintf(names.v[i].addresses, ADDRESSES_BYTES, "%s", addresses) <
           ADDRESSES_BYTES);
    pthread_mutex_unlock(&names.lock);
}

static void set_hanging(bool hangs)
{
    pthread_mutex_lock(&names.lock);
    names.hangs = hangs;
    pthread_cond_broadcast(&names.go);
    pthread_mutex_unlock(&names.lock);
}

void play_names_hang(void)
{
    set_hanging(true);
}

void play_names_go(void)
{
    set_hanging(false);
}

unsigned play_names_begun(void)
{
    pthread_mutex_lock(&names.lock);
    unsigned begun = names.begun;

    pthread_mutex_unlock(&names.lock);
    return begun;
}

void play_names_reset(void)
{
    pthread_mutex_lock(&names.lock);
    names.hangs = false;
    names.begun = 0;
    names.n = 0;
    pthread_mutex_unlock(&names.lock);
}

/* One entry as the C library makes it, so that its freeaddrinfo() can free it: the address stands
 * behind it in the same memory. */
static struct addrinfo *entry_of(const char *literal)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    bool is_v6 = inet_pton(AF_INET6, literal, &v6.sin6_addr) == 1;
    struct addrinfo *e = mem_zalloc(sizeof(*e) + sizeof(v6));

    ensure(is_v6 || inet_pton(AF_INET, literal, &v4.sin_addr) == 1);
    e->ai_family = is_v6 ? AF_INET6 : AF_INET;
    e->ai_socktype = SOCK_STREAM;
    e->ai_addrlen = is_v6 ? sizeof(v6) : sizeof(v4);
    e->ai_addr = (struct sockaddr *)(e + 1);
    memcpy(e->ai_addr, is_v6 ? (const void *)&v6 : (const void *)&v4, e->ai_addrlen);
    return e;
}

static struct addrinfo *list_of(char *literals)
{
    struct addrinfo *first = NULL, **end = &first;
    char *save = NULL;

    for (char *one = strtok_r(literals, " ", &save); one != NULL;
         one = strtok_r(NULL, " ", &save)) {
        *end = entry_of(one);
        end = &(*end)->ai_next;
    }
    return first;
}

int play_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                     struct addrinfo **out)
{
    char literals[ADDRESSES_BYTES] = "";

    if (!is_played(name)) {
        getaddrinfo_fn *real;

        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(name, service, hints, out);
    }
    pthread_mutex_lock(&names.lock);
    names.begun++;
    while (names.hangs)
        pthread_cond_wait(&names.go, &names.lock);
    for (size_t i = 0; i < names.n; i++)
        if (strcmp(names.v[i].name, name) == 0)
            memcpy(literals, names.v[i].addresses, sizeof(literals));
    pthread_mutex_unlock(&names.lock);
    *out = list_of(literals);
    return *out != NULL ? 0 : EAI_NONAME;
}
