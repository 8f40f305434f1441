/* SPDX-License-Identifier: Apache-2.0 */
#include "token_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/lock.h"
#include "welch.h"

#define WAIT_MS 20000

struct hgi_tokens *tokens;
struct hgi_token_text known[TOKENS];

static char folder[] = "/tmp/herdgate-timing-XXXXXX";

static struct {
    struct hgi_lock lock;
    struct hgi_cond cond;
    size_t count;
} told;

static void tell(void *context, const struct hgi_tokens_done *done)
{
    hgi_lock_host(&told.lock);
    if (done->token) {
        *(struct hgi_token_text *)context = *done->token;
        told.count++;
    }
    hgi_cond_wake_all(&told.cond);
    hgi_unlock_host(&told.lock);
}

void token_file_open(const struct hgi_principal *principal)
{
    static char path[96];
    static char key_path[96];
    const struct hgi_tokens_options options = {
        .path = path, .key_path = key_path, .principals = principal, .principal_count = 1};
    char sentence[HGI_SENTENCE_MAX];

    if (!mkdtemp(folder)) {
        give_up("no folder");
    }
    snprintf(path, sizeof(path), "%s/tokens", folder);
    snprintf(key_path, sizeof(key_path), "%s/key", folder);
    if (hgi_tokens_open(&options, &tokens, sentence) != HG_OK) {
        give_up(sentence);
    }
    hgi_lock_init(&told.lock);
    hgi_cond_init(&told.cond);
    for (size_t i = 0; i < TOKENS; i++) {
        if (hgi_tokens_new(tokens, hg_slice_text(principal->name), 0, TOKEN_NOW_MS, tell, &known[i],
                           sentence) != HG_OK) {
            give_up(sentence);
        }
    }
    hgi_lock_host(&told.lock);
    while (told.count < TOKENS) {
        if (!hgi_cond_wait(&told.cond, &told.lock, WAIT_MS)) {
            give_up("the tokens were not written");
        }
    }
    hgi_unlock_host(&told.lock);
}

void token_file_close(void)
{
    static const char *const names[] = {"tokens", "tokens.lock", "key", "key.lock"};
    char path[96];

    hgi_tokens_close(&tokens);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    if (rmdir(folder) != 0) {
        give_up("its folder could not be removed");
    }
}
