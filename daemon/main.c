/* SPDX-License-Identifier: Apache-2.0 */
#include "app/options.h"
#include "app/start.h"

/* An exit code from options_parse() ends informerd: --help, --version or a wrong option. */
int main(int argc, char **argv)
{
    struct title title = title_take(argc, argv);
    struct options options;
    int code = options_parse(&options, argc, argv);

    options.title = title;
    return code >= 0 ? code : start_run(&options);
}
