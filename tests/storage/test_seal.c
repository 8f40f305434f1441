/* SPDX-License-Identifier: Apache-2.0 */
/* What was sealed is opened, and nothing else is; digests of two kinds, files or keys differ. */
#include "base/hash.h"
#include "hg_test.h"
#include "storage/snapshot/seal.h"

static const unsigned char salt[HGI_SEAL_SALT_BYTES] = "a file's salt";
static const unsigned char other_salt[HGI_SEAL_SALT_BYTES] = "another's";
static const struct hgi_digest_key key = {"a key of thirty-two bytes"};
static const struct hgi_digest_key other_key = {"another key"};

static const enum hgi_seal_mode modes[] = {HGI_SEAL_OWN, HGI_SEAL_KEYED, HGI_SEAL_SECRET};

static void begin(struct hgi_seal *seal, enum hgi_seal_mode mode)
{
    hgi_seal_init(seal, mode, mode == HGI_SEAL_OWN ? NULL : &key, salt);
}

/* Returns how long what was sealed is. */
static size_t close_text(struct hgi_seal *seal, const char *bound, const char *text,
                         unsigned char *into)
{
    memcpy(into + hgi_seal_lead(seal), text, strlen(text));
    hgi_seal_close(seal, hg_slice_text(bound), into, strlen(text));
    return strlen(text) + hgi_seal_overhead(seal);
}

START_TEST(what_was_sealed_opens_and_any_change_of_it_or_of_what_it_is_bound_to_does_not)
{
    for (size_t m = 0; m < 3; m++) {
        struct hgi_seal seal;
        struct hg_bytes scratch;
        unsigned char sealed[128];
        struct hg_slice plain;
        size_t len;

        begin(&seal, modes[m]);
        hgi_bytes_init(&scratch, &hgi_heap);
        len = close_text(&seal, "bound", "a credential", sealed);
        ck_assert(hgi_seal_open(&seal, hg_slice_text("bound"), hg_slice_of(sealed, len), &scratch,
                                &plain));
        ck_assert_slice_eq(plain, "a credential");
        for (size_t i = 0; i < len; i++) {
            sealed[i] ^= 0x10;
            ck_assert_msg(!hgi_seal_open(&seal, hg_slice_text("bound"), hg_slice_of(sealed, len),
                                         &scratch, &plain),
                          "byte %zu in mode %d", i, modes[m]);
            sealed[i] ^= 0x10;
        }
        for (size_t cut = 0; cut < len; cut++) {
            ck_assert(!hgi_seal_open(&seal, hg_slice_text("bound"), hg_slice_of(sealed, cut),
                                     &scratch, &plain));
        }
        ck_assert(!hgi_seal_open(&seal, hg_slice_text("bounds"), hg_slice_of(sealed, len), &scratch,
                                 &plain));
        ck_assert(
            !hgi_seal_open(&seal, hg_slice_text(""), hg_slice_of(sealed, len), &scratch, &plain));
        hgi_bytes_deinit(&scratch);
        hgi_seal_deinit(&seal);
    }
}
END_TEST

START_TEST(another_key_or_salt_opens_nothing)
{
    for (size_t m = 0; m < 3; m++) {
        struct hgi_seal seal;
        struct hgi_seal other;
        struct hg_bytes scratch;
        unsigned char sealed[128];
        struct hg_slice plain;
        size_t len;

        begin(&seal, modes[m]);
        hgi_bytes_init(&scratch, &hgi_heap);
        len = close_text(&seal, "bound", "a credential", sealed);
        hgi_seal_init(&other, modes[m], modes[m] == HGI_SEAL_OWN ? NULL : &key, other_salt);
        ck_assert(!hgi_seal_open(&other, hg_slice_text("bound"), hg_slice_of(sealed, len), &scratch,
                                 &plain));
        hgi_seal_init(&other, modes[m], &other_key, salt);
        ck_assert(!hgi_seal_open(&other, hg_slice_text("bound"), hg_slice_of(sealed, len), &scratch,
                                 &plain));
        hgi_bytes_deinit(&scratch);
    }
}
END_TEST

START_TEST(only_the_mode_with_encryption_hides_the_text)
{
    for (size_t m = 0; m < 3; m++) {
        struct hgi_seal seal;
        unsigned char sealed[128];
        size_t len;

        begin(&seal, modes[m]);
        len = close_text(&seal, "bound", "a credential", sealed);
        ck_assert((memmem(sealed, len, "a credential", 12) == NULL) ==
                  (modes[m] == HGI_SEAL_SECRET));
    }
}
END_TEST

/* Over more of them than are drawn together. */
START_TEST(no_nonce_is_used_twice)
{
    enum { COUNT = 5 * HGI_SEAL_NONCES };
    static unsigned char nonces[COUNT][HGI_SEAL_NONCE_BYTES];
    struct hgi_seal seal;

    begin(&seal, HGI_SEAL_SECRET);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char sealed[128];

        (void)close_text(&seal, "", "t", sealed);
        memcpy(nonces[i], sealed, HGI_SEAL_NONCE_BYTES);
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_ne(memcmp(nonces[i], nonces[k], HGI_SEAL_NONCE_BYTES), 0);
        }
    }
}
END_TEST

START_TEST(a_digest_depends_on_its_kind_the_key_and_the_salt)
{
    struct hgi_seal seal;
    struct hgi_seal other;
    struct hg_slice text = hg_slice_text("the same text");

    begin(&seal, HGI_SEAL_KEYED);
    begin(&other, HGI_SEAL_KEYED);
    for (unsigned a = 0; a < HGI_SEAL_KIND_COUNT; a++) {
        ck_assert_uint_eq(hgi_seal_digest(&seal, a, text), hgi_seal_digest(&other, a, text));
        for (unsigned b = 0; b < a; b++) {
            ck_assert_uint_ne(hgi_seal_digest(&seal, a, text), hgi_seal_digest(&seal, b, text));
        }
    }
    hgi_seal_init(&other, HGI_SEAL_KEYED, &key, other_salt);
    ck_assert_uint_ne(hgi_seal_digest(&seal, HGI_SEAL_OF_KEY, text),
                      hgi_seal_digest(&other, HGI_SEAL_OF_KEY, text));
    hgi_seal_init(&other, HGI_SEAL_KEYED, &other_key, salt);
    ck_assert_uint_ne(hgi_seal_digest(&seal, HGI_SEAL_OF_KEY, text),
                      hgi_seal_digest(&other, HGI_SEAL_OF_KEY, text));
}
END_TEST

HGI_SUITE("storage.seal", 20,
          what_was_sealed_opens_and_any_change_of_it_or_of_what_it_is_bound_to_does_not,
          another_key_or_salt_opens_nothing, only_the_mode_with_encryption_hides_the_text,
          no_nonce_is_used_twice, a_digest_depends_on_its_kind_the_key_and_the_salt)
