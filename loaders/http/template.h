/* SPDX-License-Identifier: Apache-2.0 */
/* template: a text with places for the parts of a key: {key}, {user_id}, {api_key_id},
 * {standalone}, {cache}.
 * Owns:     its pieces, until clear.
 * Threads:  unchanged once parsed, so any.
 * Limits:   TEMPLATE_PIECES_MAX places and texts between them.
 * Errors:   one sentence.
 * Not here: which text goes where in a request (request). */
#ifndef HG_LOADERS_HTTP_TEMPLATE_H
#define HG_LOADERS_HTTP_TEMPLATE_H

#include "herdgate/loader.h"
#include "loaders/kit/text.h"

#define TEMPLATE_PIECES_MAX 32

/* How what stands in a place is written there. */
enum template_form {
    TEMPLATE_URL,    /* percent-encoded: in a path, a query, a form */
    TEMPLATE_JSON,   /* escaped, between quotes the text must have itself, but {standalone} */
    TEMPLATE_HEADER, /* as it is, but no control characters */
};

enum template_place {
    TEMPLATE_TEXT, /* the piece is its own text */
    TEMPLATE_KEY,
    TEMPLATE_USER_ID,
    TEMPLATE_API_KEY_ID,
    TEMPLATE_STANDALONE,
    TEMPLATE_CACHE,
};

struct template
{
    enum template_form form;
    size_t count;
    struct {
        enum template_place place;
        size_t from; /* of a text: in `text` */
        size_t len;
    } pieces[TEMPLATE_PIECES_MAX];
    struct text text;
};

/* A brace that begins no place is itself in JSON and refused elsewhere; so is what is no JSON, and
 * whatever the key is stays JSON. Borrows nothing. */
HG_NODISCARD bool template_parse(struct template *template, const char *option, const char *text,
                                 enum template_form form, char *error, size_t error_size);
void template_clear(struct template *template);
/* Where the first place stands in the text; its length, if there is none. */
size_t template_first_place(const struct template *template);
/* Appends the text for this key. INVALID_ARGUMENT and a sentence: the key has no such part, or the
 * part cannot stand there. */
HG_NODISCARD enum hg_status template_fill(const struct template *template,
                                          const struct hg_load_request *request,
                                          struct text *ret_text, char *sentence,
                                          size_t sentence_size);

#endif
