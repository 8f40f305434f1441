/* SPDX-License-Identifier: Apache-2.0 */
/* list: an intrusive doubly linked list.
 * Owns:     nothing; nodes live in their own structures.
 * Threads:  the caller's lock.
 * Limits:   none.
 * Errors:   none.
 * Not here: lookup (map), order by time (heap). */
#ifndef HGI_BASE_LIST_H
#define HGI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* A node points at itself when in no list. A list is a node of its own. */
struct hgi_node {
    struct hgi_node *prev;
    struct hgi_node *next;
};

static inline void hgi_list_init(struct hgi_node *node)
{
    node->prev = node;
    node->next = node;
}

static inline bool hgi_list_is_empty(const struct hgi_node *list)
{
    return list->next == list;
}

static inline bool hgi_list_is_linked(const struct hgi_node *node)
{
    return node->next != node;
}

static inline void hgi_list_insert_after(struct hgi_node *where, struct hgi_node *node)
{
    node->prev = where;
    node->next = where->next;
    where->next->prev = node;
    where->next = node;
}

static inline void hgi_list_push_front(struct hgi_node *list, struct hgi_node *node)
{
    hgi_list_insert_after(list, node);
}

static inline void hgi_list_push_back(struct hgi_node *list, struct hgi_node *node)
{
    hgi_list_insert_after(list->prev, node);
}

/* Taking out a node that is in no list does nothing. */
static inline void hgi_list_remove(struct hgi_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    hgi_list_init(node);
}

/* The first node taken out, or NULL. */
static inline struct hgi_node *hgi_list_pop_front(struct hgi_node *list)
{
    struct hgi_node *node = list->next;

    if (node == list) {
        return NULL;
    }
    hgi_list_remove(node);
    return node;
}

/* Moves all of `from` to the end of `to`; `from` is empty after. */
static inline void hgi_list_move_all(struct hgi_node *from, struct hgi_node *to)
{
    if (hgi_list_is_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    hgi_list_init(from);
}

#endif
