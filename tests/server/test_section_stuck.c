/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that hangs in the kernel while it opens; loads that do are in tests/e2e/test_crashes.c.
 */
#include "notebook.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "mute_files.h"
#include "server/loader/section.h"

/* It is given its time, and a second to die; nobody waits for more. */
START_TEST(a_plugin_that_hangs_in_the_kernel_while_it_opens_keeps_nobody_from_ending)
{
    char dir[] = "/tmp/herdgate-mute-XXXXXX";
    char why[MUTE_FILES_SENTENCE_MAX];
    struct mute_files files;
    int64_t begun_ms;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    if (mute_files_open(&files, dir, why)) {
        prepare(1, 8, "");
        settings[0].value = files.file; /* what it reads first */
        begun_ms = hgi_clock_now().boot_ms;
        assert_not_started("loader \"keys\": its plugin did not open within 10 s");
        ck_assert_int_lt(hgi_clock_now().boot_ms - begun_ms, 2 * HGI_READY_MS);
        ck_assert_uint_eq(mute_files_read_count(&files), 1); /* it hangs still */
        hgi_script_close(&script);
        mute_files_close(&files);
    } else {
        printf("a plugin that hangs in the kernel was not tried: %s\n", why);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

HGI_SUITE("server.section_stuck", 60,
          a_plugin_that_hangs_in_the_kernel_while_it_opens_keeps_nobody_from_ending)
