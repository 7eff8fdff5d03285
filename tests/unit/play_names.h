/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_names - the resolver that libuv asks, under control of a test: names have the addresses that
 * the test gives them, lookups fail, and a resolver hangs for as long as the test wants.
 *
 * A test that is linked with it has its getaddrinfo() in place of that of the C library. Only names
 * that end in .test are played; the C library looks up all others.
 */
#ifndef UNIT_PLAY_NAMES_H
#define UNIT_PLAY_NAMES_H

/* The next lookups of name have this answer: IP literals with blanks between them, in this order;
 * "" = the name does not exist. Without a call a name does not exist. */
void play_names_set(const char *name, const char *addresses);

/* Lookups hang from now on, until play_names_go(). */
void play_names_hang(void);

/* Lookups that hang, and later ones, are answered. */
void play_names_go(void);

/* How many lookups have begun on a thread. */
unsigned play_names_begun(void);

/* Forgets all names, and counts lookups from 0. None may be under way. */
void play_names_reset(void);

#endif
