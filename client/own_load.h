/* SPDX-License-Identifier: Apache-2.0 */
/* own_load: the loads of plugins that this program has opened, and the services they call.
 * Owns:     each load until the plugin has done it, its `load` has returned, and its caller has
 *           left: the last of the three frees it.
 * Threads:  any; class plugin.
 * Limits:   a load's caller waits no longer than its lead says.
 * Errors:   what the load came to, to its lead.
 * Not here: the loaders themselves (own), the rules for answers (loaders/contract). */
#ifndef HGI_CLIENT_OWN_LOAD_H
#define HGI_CLIENT_OWN_LOAD_H

/* What each of a loader's threads does until the loader stops; `own` is a struct hgi_own. */
void hgi_own_load_work(void *own);

#endif
