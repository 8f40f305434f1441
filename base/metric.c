/* SPDX-License-Identifier: Apache-2.0 */
#include "metric.h"

#include "base/check.h"

const char *hgi_metric_name(enum hgi_metric metric)
{
    static const char *const names[] = {
#define HGI_METRIC_ROW(name, help) #name,
#include "base/metrics.def"
#undef HGI_METRIC_ROW
    };

    HGI_BUG_ON((size_t)metric >= HGI_COUNT_OF(names));
    return names[metric];
}
