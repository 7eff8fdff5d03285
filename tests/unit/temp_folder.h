/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_folder - an empty folder in which one test works.
 */
#ifndef UNIT_TEMP_FOLDER_H
#define UNIT_TEMP_FOLDER_H

/* The setup of a test with cmocka: a folder with mode 0755, which becomes the working directory. */
int temp_folder_enter(void **state);

/* Its teardown: removes the folder with everything in it. */
int temp_folder_leave(void **state);

/* The absolute path of the folder. */
const char *temp_folder_path(void);

/* Removes any folder with everything in it; links are not followed. */
void temp_folder_remove(const char *path);

#endif
