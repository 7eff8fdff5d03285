/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl: asks a running informerd. */
#include <stdio.h>
#include <string.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/command.h"
#include "ctl/complete.h"
#include "ctl/write_out.h"

/* Carries out one command. The answer goes to out, and complaint is for stderr; main() writes
 * both. */
static enum command_exit run(int argc, const char *const *argv, struct buf *out,
                             struct buf *complaint)
{
    struct args a;
    struct err err = {0};

    if (argc > 1 && strcmp(argv[1], COMPLETE_COMMAND) == 0) {
        complete_words(out, argc - 2, argv + 2);
        return EXIT_FINE;
    }
    if (args_parse(&a, argc, argv, &err) != ERR_OK) {
        buf_printf(complaint, "%s: see informerctl --help\n", err.text);
        return EXIT_USAGE;
    }
    if (a.help) {
        command_put_help(out);
        return EXIT_FINE;
    }
    if (a.version) {
        buf_puts(out, "informerctl " INFORMERD_VERSION "\n");
        return EXIT_FINE;
    }
    return command_run(&a, out, complaint);
}

int main(int argc, char **argv)
{
    struct buf out = {0};
    struct buf complaint = {0};
    struct buf shown = {0};
    enum command_exit code = run(argc, (const char *const *)argv, &out, &complaint);

    /* An answer that was written only in part must not look like success: a script reads it from a
     * pipe. */
    int error = write_out(buf_str(&out));
    if (error != 0) {
        fprintf(stderr, "informerctl: stdout: %s\n",
                strerror(error)); /* NOLINT(concurrency-mt-unsafe) */
        code = EXIT_NO;
    }
    visible_put_lines(&shown, buf_str(&complaint));
    if (shown.len > 0)
        fprintf(stderr, "informerctl: %.*s", STR_ARG(buf_str(&shown)));
    buf_free(&shown);
    buf_free(&out);
    buf_free(&complaint);
    return code;
}
