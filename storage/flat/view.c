/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

bool hgi_view_is_over(const struct hgi_view *view, const struct hgi_now *now)
{
    if (view->expires_wall_ms &&
        (now->wall_ms >= view->expires_wall_ms || now->boot_ms >= view->expires_boot_ms)) {
        return true;
    }
    return now->boot_ms - view->published_ms > view->keep_ms;
}
