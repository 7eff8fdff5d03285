/* SPDX-License-Identifier: Apache-2.0 */
#include "temp_folder.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { DESCRIPTORS = 8 };

static char folder[32];

int temp_folder_enter(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/informerd-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chdir(folder), 0);
    return 0;
}

int temp_folder_leave(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    temp_folder_remove(folder);
    return 0;
}

const char *temp_folder_path(void)
{
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void temp_folder_remove(const char *path)
{
    assert_int_equal(nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS), 0);
}
