/* SPDX-License-Identifier: Apache-2.0 */
#include "app/options.h"
#include "app/start.h"

int main(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&options, argc, argv);

    return code >= 0 ? code : start_run(&options);
}
