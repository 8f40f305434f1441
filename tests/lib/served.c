/* SPDX-License-Identifier: Apache-2.0 */
#include "served.h"

void served_setup(struct fixture *f, const char *sections)
{
    daemon_prepare(&f->d, sections);
    daemon_start(&f->d);
    crowd_init(&f->crowd);
}

void served_teardown(struct fixture *f)
{
    crowd_wait(&f->crowd);
    daemon_stop(&f->d);
    daemon_remove(&f->d);
    crowd_deinit(&f->crowd);
}

struct crowd_answer *served_ask(struct fixture *f, const char *cache, const char *key,
                                enum hg_mode mode)
{
    const struct hg_read request = {
        .cache = cache, .key = daemon_key(key), .mode = mode, .timeout_ms = SERVED_TIMEOUT_MS};

    return crowd_read(&f->crowd, f->d.client, &request);
}
