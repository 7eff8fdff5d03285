/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands wait for a unit that systemd starts after informerd, by the unit files of a folder. */
#include "app/unit_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "temp_folder.h"

/* Writes a file below the folder of the test, with the folders on the way to it. */
static void write_file(const char *path, const char *text)
{
    char *whole = mem_printf("%s%s", temp_folder_path(), path);

    for (char *slash = whole + strlen(temp_folder_path()) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *f = fopen(whole, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    free(whole);
}

/* Expects this unit of a command, whose words have a space in between; NULL = it does not wait. */
static void expect(const char *command, const char *unit)
{
    char *words = mem_strdup(command);
    struct conf_str v[8];
    struct conf_list list = {.v = v};
    char *rest = words;

    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        v[list.n++] = (struct conf_str){.v = word};
    const char *found = unit_order_waits(&list, temp_folder_path());
    if (unit == NULL)
        assert_null(found);
    else
        assert_string_equal(found, unit);
    free(words);
}

#define AFTER(units) "[Unit]\nAfter=" units "\n[Service]\n"

static void test_verbs_that_wait(void **state)
{
    static const char *const wait[] = {"start", "restart", "reload", "reload-or-restart"};
    static const char *const do_not[] = {"try-restart", "try-reload-or-restart", "stop",
                                         "is-active"};

    (void)state;
    write_file("/etc/systemd/system/web.service", AFTER("informerd.service"));
    for (size_t i = 0; i < ARRAY_LEN(wait); i++) {
        char *command = mem_printf("/usr/bin/systemctl %s web", wait[i]);

        expect(command, "web");
        free(command);
    }
    for (size_t i = 0; i < ARRAY_LEN(do_not); i++) {
        char *command = mem_printf("/usr/bin/systemctl %s web", do_not[i]);

        expect(command, NULL);
        free(command);
    }
}

static void test_the_words_of_the_command(void **state)
{
    (void)state;
    write_file("/etc/systemd/system/web.service", AFTER("informerd.service"));
    write_file("/etc/systemd/system/web.socket", AFTER("network.target"));
    expect("systemctl reload web.service", "web.service");
    expect("sudo -n /bin/systemctl --quiet reload other web", "web");
    expect("systemctl reload web.socket", NULL);
    expect("systemctl reload --no-block web", NULL);
    expect("systemctl --no-block reload web", NULL);
    expect("systemctl web", NULL);
    expect("service web reload", NULL);
    expect("systemctl reload ../system/web", NULL);
    expect("systemctl", NULL);
}

static void test_every_folder_of_units_counts(void **state)
{
    static const char *const folders[] = {"/etc/systemd/system", "/run/systemd/system",
                                          "/usr/local/lib/systemd/system",
                                          "/usr/lib/systemd/system", "/lib/systemd/system"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        char *path = mem_printf("%s/u%zu.service", folders[i], i);
        char *command = mem_printf("systemctl reload u%zu", i);
        char *unit = mem_printf("u%zu", i);

        expect(command, NULL);
        write_file(path, AFTER("informerd.service"));
        expect(command, unit);
        free(path);
        free(command);
        free(unit);
    }
}

static void test_a_drop_in_counts(void **state)
{
    (void)state;
    write_file("/lib/systemd/system/web.service", AFTER("network.target"));
    expect("systemctl reload web", NULL);
    write_file("/etc/systemd/system/web.service.d/.hidden", AFTER("informerd.service"));
    expect("systemctl reload web", NULL);
    write_file("/etc/systemd/system/web.service.d/order.conf", AFTER("informerd.service"));
    expect("systemctl reload web", "web");
}

static void test_informerd_is_a_word_of_after(void **state)
{
    static const char *const after[] = {AFTER("network.target informerd.service"),
                                        AFTER("informerd.service\tnetwork.target"),
                                        "After=informerd.service"};
    static const char *const not_after[] = {
        AFTER("my-informerd.service"), AFTER("informerd.service.d"),
        "[Unit]\nBefore=informerd.service\n", "[Unit]\n#After=informerd.service\n", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(after); i++) {
        write_file("/etc/systemd/system/web.service", after[i]);
        expect("systemctl reload web", "web");
    }
    for (size_t i = 0; i < ARRAY_LEN(not_after); i++) {
        write_file("/etc/systemd/system/web.service", not_after[i]);
        expect("systemctl reload web", NULL);
    }
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_verbs_that_wait),
        IN_FOLDER(test_the_words_of_the_command),
        IN_FOLDER(test_every_folder_of_units_counts),
        IN_FOLDER(test_a_drop_in_counts),
        IN_FOLDER(test_informerd_is_a_word_of_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
