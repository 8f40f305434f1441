/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include <stdio.h>

#include "service.h"
#include "setting.h"

enum hg_status hgi_opened_open(struct hgi_opened *opened, const struct hgi_plugin_file *file,
                               const struct hg_loader_setting *settings, size_t setting_count,
                               struct hg_host *host)
{
    enum hg_status status;

    *opened = (struct hgi_opened){.loader = NULL};
    status = hgi_plugin_open(file, &opened->loader, opened->sentence);
    if (status == HG_OK) {
        status = hgi_setting_check(opened->loader, settings, setting_count, opened->sentence,
                                   sizeof(opened->sentence));
    }
    if (status != HG_OK) {
        return status;
    }
    status = opened->loader->open(host, &hgi_host_services, settings, setting_count, &opened->self,
                                  opened->sentence, sizeof(opened->sentence));
    opened->sentence[sizeof(opened->sentence) - 1] = '\0';
    if (status != HG_OK && opened->sentence[0] == '\0') {
        snprintf(opened->sentence, sizeof(opened->sentence),
                 "plugin %.60s did not open and did not say why", opened->loader->name);
    }
    return status;
}
