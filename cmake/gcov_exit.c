// SPDX-License-Identifier: Apache-2.0
/* For builds that count lines: gcov writes its counts in exit(), but the helper and the children that it forks end by
 * _exit(). The linker has their calls come here first (--wrap). */
void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
