/* SPDX-License-Identifier: Apache-2.0 */
#include "herdgate/status.h"

const char *hg_status_name(enum hg_status status)
{
    switch (status) {
#define HG_STATUS_ROW(name, number, text)                                                          \
    case HG_##name:                                                                                \
        return #name;
#include "herdgate/status.def"
#undef HG_STATUS_ROW
    }
    return "UNKNOWN";
}
