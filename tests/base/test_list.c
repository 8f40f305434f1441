/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/list.h"

static struct hgi_node list;
static struct hgi_node nodes[5];

static void set_up(void)
{
    hgi_list_init(&list);
    for (size_t i = 0; i < 5; i++) {
        hgi_list_init(&nodes[i]);
    }
}

/* The list holds the nodes of these indexes, read forwards and backwards; -1 ends. */
static void holds(const struct hgi_node *head, const int *indexes)
{
    const struct hgi_node *at = head->next;
    const struct hgi_node *before = head;

    for (; *indexes >= 0; indexes++) {
        ck_assert_ptr_eq(at, &nodes[*indexes]);
        ck_assert_ptr_eq(at->prev, before);
        before = at;
        at = at->next;
    }
    ck_assert_ptr_eq(at, head);
    ck_assert_ptr_eq(head->prev, before);
}

START_TEST(nodes_stand_where_they_were_put)
{
    set_up();
    ck_assert(hgi_list_is_empty(&list));
    hgi_list_push_back(&list, &nodes[1]);
    hgi_list_push_back(&list, &nodes[2]);
    hgi_list_push_front(&list, &nodes[0]);
    hgi_list_insert_after(&nodes[1], &nodes[3]);
    ck_assert(!hgi_list_is_empty(&list));
    holds(&list, (const int[]){0, 1, 3, 2, -1});
}
END_TEST

START_TEST(a_removed_node_is_in_no_list_and_may_be_removed_again)
{
    set_up();
    hgi_list_push_back(&list, &nodes[0]);
    hgi_list_push_back(&list, &nodes[1]);
    hgi_list_push_back(&list, &nodes[2]);
    ck_assert(hgi_list_is_linked(&nodes[1]));
    hgi_list_remove(&nodes[1]);
    ck_assert(!hgi_list_is_linked(&nodes[1]));
    hgi_list_remove(&nodes[1]);
    holds(&list, (const int[]){0, 2, -1});
    hgi_list_push_back(&list, &nodes[1]);
    holds(&list, (const int[]){0, 2, 1, -1});
}
END_TEST

START_TEST(popping_takes_from_the_front_until_there_is_none)
{
    set_up();
    hgi_list_push_back(&list, &nodes[0]);
    hgi_list_push_back(&list, &nodes[1]);
    ck_assert_ptr_eq(hgi_list_pop_front(&list), &nodes[0]);
    ck_assert(!hgi_list_is_linked(&nodes[0]));
    ck_assert_ptr_eq(hgi_list_pop_front(&list), &nodes[1]);
    ck_assert_ptr_null(hgi_list_pop_front(&list));
    holds(&list, (const int[]){-1});
}
END_TEST

START_TEST(moving_all_appends_and_leaves_nothing)
{
    struct hgi_node other;

    set_up();
    hgi_list_init(&other);
    hgi_list_push_back(&list, &nodes[0]);
    hgi_list_push_back(&other, &nodes[1]);
    hgi_list_push_back(&other, &nodes[2]);
    hgi_list_move_all(&other, &list);
    holds(&list, (const int[]){0, 1, 2, -1});
    holds(&other, (const int[]){-1});
    hgi_list_move_all(&other, &list);
    holds(&list, (const int[]){0, 1, 2, -1});
}
END_TEST

HGI_SUITE("base.list", 20, nodes_stand_where_they_were_put,
          a_removed_node_is_in_no_list_and_may_be_removed_again,
          popping_takes_from_the_front_until_there_is_none, moving_all_appends_and_leaves_nothing)
