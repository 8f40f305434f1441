/* SPDX-License-Identifier: Apache-2.0 */
/* Histories that are right and histories that are wrong: the search must tell them apart. Each line
 * of one is an operation and the two instants it lies between. */
#include "hg_test.h"
#include "linear.h"

#define COUNT(ops) ((unsigned)(sizeof(ops) / sizeof(*(ops))))

static bool always(void *context, unsigned value)
{
    (void)context;
    (void)value;
    return true;
}

static bool never(void *context, unsigned value)
{
    (void)context;
    (void)value;
    return false;
}

static const struct linear_rules roomy = {never, never, NULL};
static const struct linear_rules narrow = {always, never, NULL}; /* whatever is there may go */
static const struct linear_rules aging = {never, always, NULL};  /* and be stale */

static struct linear_op put(uint64_t begun, uint64_t ended, unsigned value, uint64_t number)
{
    return (struct linear_op){.kind = LINEAR_PUT,
                              .begun = begun,
                              .ended = ended,
                              .value = value,
                              .shows = value,
                              .number = number};
}

static struct linear_op publish(uint64_t begun, uint64_t ended, unsigned value, uint64_t born)
{
    struct linear_op op = put(begun, ended, value, born);

    op.kind = LINEAR_PUBLISH;
    return op;
}

static struct linear_op put_if(uint64_t begun, uint64_t ended, unsigned value, uint64_t born)
{
    struct linear_op op = put(begun, ended, value, born);

    op.kind = LINEAR_PUT_IF;
    return op;
}

static struct linear_op rearm(uint64_t begun, uint64_t ended, unsigned value, uint64_t born,
                              unsigned kin)
{
    struct linear_op op = publish(begun, ended, value, born);

    op.kind = LINEAR_REARM;
    op.kin = kin;
    return op;
}

static struct linear_op end(uint64_t begun, uint64_t ended, uint64_t number)
{
    return (struct linear_op){
        .kind = LINEAR_END, .begun = begun, .ended = ended, .number = number, .covers_key = true};
}

static struct linear_op soften(uint64_t begun, uint64_t ended, uint64_t number)
{
    struct linear_op op = end(begun, ended, number);

    op.is_soft = true;
    return op;
}

static struct linear_op see(uint64_t begun, uint64_t ended, unsigned value)
{
    return (struct linear_op){
        .kind = LINEAR_READ, .begun = begun, .ended = ended, .shows = value, .is_fresh = true};
}

static struct linear_op see_stale(uint64_t begun, uint64_t ended, unsigned value)
{
    struct linear_op op = see(begun, ended, value);

    op.is_fresh = false;
    return op;
}

static enum linear_verdict judge(const struct linear_op *ops, unsigned count,
                                 const struct linear_rules *rules)
{
    struct linear_register reg;

    linear_init(&reg);
    return linear_check(&reg, ops, count, rules);
}

/* A fresh register for each. */
#define ck_assert_right(rules, ...)                                                                \
    do {                                                                                           \
        const struct linear_op ops_[] = {__VA_ARGS__};                                             \
        ck_assert_int_eq(judge(ops_, COUNT(ops_), &(rules)), LINEAR_YES);                          \
    } while (0)

#define ck_assert_wrong(rules, ...)                                                                \
    do {                                                                                           \
        const struct linear_op ops_[] = {__VA_ARGS__};                                             \
        ck_assert_int_eq(judge(ops_, COUNT(ops_), &(rules)), LINEAR_NO);                           \
    } while (0)

START_TEST(what_was_put_is_read_and_nothing_else)
{
    ck_assert_right(roomy, put(1, 2, 7, 1), see(3, 4, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 1), see(3, 4, 8));
    ck_assert_wrong(roomy, see(1, 2, 7), put(3, 4, 7, 1));
    ck_assert_right(roomy, see(1, 2, 0), put(3, 4, 7, 1));
}
END_TEST

START_TEST(no_read_begun_after_an_invalidation_sees_what_was_before)
{
    ck_assert_wrong(roomy, put(1, 2, 7, 1), end(3, 4, 2), see(5, 6, 7));
    ck_assert_wrong(narrow, put(1, 2, 7, 1), end(3, 4, 2), see(5, 6, 7));
    ck_assert_right(roomy, put(1, 2, 7, 1), end(3, 4, 2), see(5, 6, 0));
    /* At the same time is not after. */
    ck_assert_right(roomy, put(1, 2, 7, 1), end(3, 8, 2), see(5, 6, 7));
    ck_assert_right(roomy, put(1, 2, 7, 1), end(5, 6, 2), see(3, 8, 7));
    /* But once somebody has seen it done, it is done for all. */
    ck_assert_wrong(roomy, put(1, 2, 7, 1), end(3, 12, 2), see(5, 6, 0), see(7, 8, 7));
}
END_TEST

START_TEST(two_readers_see_two_writes_in_one_order)
{
    ck_assert_right(roomy, put(1, 20, 7, 0), put(2, 19, 8, 0), see(3, 4, 7), see(5, 6, 8));
    ck_assert_right(roomy, put(1, 20, 7, 0), put(2, 19, 8, 0), see(3, 4, 8), see(5, 6, 7));
    ck_assert_wrong(roomy, put(1, 20, 7, 0), put(2, 19, 8, 0), see(3, 4, 7), see(5, 6, 8),
                    see(7, 8, 7));
    /* Of two readers each sees both, while the other does. */
    ck_assert_wrong(roomy, put(1, 20, 7, 0), put(2, 19, 8, 0), see(3, 10, 7), see(4, 9, 8),
                    see(11, 16, 8), see(12, 15, 7), see(17, 18, 8));
    ck_assert_right(roomy, put(1, 20, 7, 0), put(2, 19, 8, 0), see(3, 10, 7), see(4, 9, 8),
                    see(11, 16, 8), see(12, 15, 8));
}
END_TEST

START_TEST(the_numbers_that_were_taken_are_the_order)
{
    ck_assert_right(roomy, put(1, 10, 7, 1), put(2, 9, 8, 2), see(11, 12, 8));
    ck_assert_wrong(roomy, put(1, 10, 7, 1), put(2, 9, 8, 2), see(11, 12, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 2), put(3, 4, 8, 1));
}
END_TEST

START_TEST(where_there_is_room_no_write_is_lost)
{
    ck_assert_wrong(roomy, put(1, 2, 7, 1), see(3, 4, 0));
    ck_assert_wrong(roomy, publish(1, 2, 7, 1), see(3, 4, 0));
    ck_assert_right(narrow, put(1, 2, 7, 1), see(3, 4, 0));
    ck_assert_right(aging, put(1, 2, 7, 1), see(3, 4, 0), see_stale(5, 6, 7));
    /* What has gone does not come back. */
    ck_assert_wrong(narrow, put(1, 2, 7, 1), see(3, 4, 0), see(5, 6, 7));
}
END_TEST

START_TEST(a_load_overtaken_is_not_there)
{
    ck_assert_right(roomy, end(1, 2, 5), publish(3, 4, 7, 4), see(5, 6, 0));
    ck_assert_wrong(roomy, end(1, 2, 5), publish(3, 4, 7, 4), see(5, 6, 7));
    ck_assert_right(roomy, end(1, 2, 5), publish(3, 4, 7, 5), see(5, 6, 7));
    /* Published, and ended with it: in this order only. */
    ck_assert_right(roomy, end(1, 6, 5), publish(2, 5, 7, 4), see(3, 4, 7), see(7, 8, 0));
    ck_assert_wrong(roomy, end(1, 6, 5), publish(2, 5, 7, 4), see(3, 4, 0), see(7, 8, 7));
}
END_TEST

START_TEST(an_older_value_does_not_replace_a_younger)
{
    ck_assert_right(roomy, publish(1, 2, 7, 5), publish(3, 4, 8, 4), see(5, 6, 7));
    ck_assert_wrong(roomy, publish(1, 2, 7, 5), publish(3, 4, 8, 4), see(5, 6, 8));
    ck_assert_right(roomy, publish(1, 2, 7, 5), publish(3, 4, 8, 5), see(5, 6, 8));
    /* But where it may have gone, either is there. */
    ck_assert_right(narrow, publish(1, 2, 7, 5), publish(3, 4, 8, 4), see(5, 6, 8));
    ck_assert_right(narrow, publish(1, 2, 7, 5), publish(3, 4, 8, 4), see(5, 6, 7));
    /* What is not to be kept takes the older along. */
    ck_assert_right(roomy, publish(1, 2, 7, 5), publish(3, 4, 0, 5), see(5, 6, 0));
    ck_assert_wrong(roomy, publish(1, 2, 7, 5), publish(3, 4, 0, 5), see(5, 6, 7));
}
END_TEST

START_TEST(a_token_that_was_let_in_had_not_been_overtaken)
{
    ck_assert_right(roomy, end(1, 2, 5), put_if(3, 4, 7, 5), see(5, 6, 7));
    ck_assert_wrong(roomy, end(1, 2, 5), put_if(3, 4, 7, 4));
    ck_assert_wrong(roomy, publish(1, 2, 7, 5), put_if(3, 4, 8, 4));
    ck_assert_right(roomy, end(1, 4, 5), put_if(2, 3, 7, 4), see(5, 6, 0));
}
END_TEST

START_TEST(what_is_soft_is_read_stale_and_keeps_the_older_out)
{
    struct linear_op soft = end(3, 4, 5);

    soft.is_soft = true;
    ck_assert_right(roomy, put(1, 2, 7, 4), soft, see_stale(5, 6, 7), see(7, 8, 0));
    ck_assert_wrong(roomy, put(1, 2, 7, 4), soft, see(5, 6, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 4), soft, publish(5, 6, 8, 4), see(7, 8, 8));
    ck_assert_right(roomy, put(1, 2, 7, 4), soft, publish(5, 6, 8, 5), see(7, 8, 8));
}
END_TEST

START_TEST(a_tag_ends_what_has_it)
{
    struct linear_op tagged = put(1, 2, 7, 4);
    struct linear_op late = publish(5, 6, 8, 4);
    struct linear_op tag = end(3, 4, 5);

    tag.covers_key = false;
    tag.tags = 2;
    ck_assert_right(roomy, tagged, tag, see(7, 8, 7)); /* it has another, or none */
    tagged.tags = 1;
    ck_assert_right(roomy, tagged, tag, see(7, 8, 7));
    tagged.tags = 3;
    ck_assert_wrong(roomy, tagged, tag, see(7, 8, 7));
    ck_assert_right(roomy, tagged, tag, late, see(7, 8, 8));
    /* The ended one, unseen, may keep out what is older than it, and nothing else. */
    late.number = 3;
    ck_assert_right(roomy, tagged, tag, publish(5, 6, 8, 5), see(7, 8, 8));
    tagged.kind = LINEAR_PUBLISH;
    ck_assert_right(roomy, tagged, tag, late, see(7, 8, 8));
    ck_assert_right(roomy, tagged, tag, late, see(7, 8, 0));
    ck_assert_wrong(roomy, tagged, tag, publish(5, 6, 8, 5), see(7, 8, 0));
    late.tags = 2;
    ck_assert_wrong(roomy, tagged, tag, late, see(7, 8, 8));
}
END_TEST

START_TEST(what_may_be_so_or_so_is_settled_by_a_later_window)
{
    struct linear_register reg;
    struct linear_op late = publish(1, 2, 7, 5);
    const struct linear_op sees = see(3, 4, 7);
    const struct linear_op misses = see(5, 6, 0);

    late.is_optional = true;
    linear_init(&reg);
    ck_assert_int_eq(linear_check(&reg, &late, 1, &roomy), LINEAR_YES);
    ck_assert_uint_eq(reg.count, 2);
    ck_assert_int_eq(linear_check(&reg, &sees, 1, &roomy), LINEAR_YES);
    ck_assert_uint_eq(reg.count, 1);
    ck_assert_int_eq(linear_check(&reg, &misses, 1, &roomy), LINEAR_NO);
}
END_TEST

START_TEST(a_birth_that_is_not_known_excuses_no_more_than_it_must)
{
    ck_assert_right(roomy, end(1, 2, 5), publish(3, 4, 7, 0), see(5, 6, 0));
    ck_assert_right(roomy, end(1, 2, 5), publish(3, 4, 7, 0), see(5, 6, 7));
    ck_assert_wrong(roomy, end(1, 2, 5), publish(3, 4, 7, 0), see(5, 6, 7), see(7, 8, 0));
}
END_TEST

START_TEST(time_that_passes_may_take_a_value_along)
{
    struct linear_register reg;
    const struct linear_op puts = put(1, 2, 7, 1);
    const struct linear_op misses = see(3, 4, 0);

    linear_init(&reg);
    ck_assert_int_eq(linear_check(&reg, &puts, 1, &roomy), LINEAR_YES);
    linear_pass(&reg, &roomy);
    ck_assert_uint_eq(reg.count, 1);
    linear_pass(&reg, &narrow);
    ck_assert_int_eq(linear_check(&reg, &misses, 1, &roomy), LINEAR_YES);
}
END_TEST

/* The most that are looked at, all at the same time, one of them never explained. */
START_TEST(a_full_window_is_looked_at_and_one_more_is_not)
{
    struct linear_op ops[LINEAR_OPS_MAX + 1];
    struct linear_register reg;
    const struct linear_op old = see(300, 301, 9);
    const struct linear_op overtaken = publish(302, 303, 9, LINEAR_OPS_MAX);

    for (unsigned i = 0; i <= LINEAR_OPS_MAX; i++) {
        ops[i] = put(1 + i, 200 + i, 1 + i, 1 + i);
    }
    linear_init(&reg);
    ck_assert_int_eq(linear_check(&reg, ops, LINEAR_OPS_MAX, &roomy), LINEAR_YES);
    ck_assert_int_eq(linear_check(&reg, &old, 1, &roomy), LINEAR_NO);
    linear_init(&reg);
    ck_assert_int_eq(linear_check(&reg, ops, LINEAR_OPS_MAX + 1, &roomy), LINEAR_TOO_MUCH);
    ck_assert_int_eq(linear_check(&reg, &old, 1, &roomy), LINEAR_YES);
    /* The numbers are known all the same. */
    ck_assert_int_eq(linear_check(&reg, &overtaken, 1, &roomy), LINEAR_YES);
    ck_assert_uint_eq(reg.states[0].value, 0);
    ck_assert_uint_eq(reg.states[0].covered, LINEAR_OPS_MAX + 1);
}
END_TEST

START_TEST(only_what_is_there_is_confirmed_and_it_is_written_anew)
{
    ck_assert_right(roomy, put(1, 2, 7, 1), rearm(3, 4, 8, 1, 7), see(5, 6, 8));
    ck_assert_wrong(roomy, put(1, 2, 7, 1), rearm(3, 4, 8, 1, 7), see(5, 6, 7));
    ck_assert_right(roomy, put(1, 2, 7, 1), rearm(3, 4, 8, 1, 7), rearm(5, 6, 9, 1, 7),
                    see(7, 8, 9));
    ck_assert_wrong(roomy, rearm(1, 2, 8, 1, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 1), end(3, 4, 2), rearm(5, 6, 8, 2, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 1), put(3, 4, 9, 2), rearm(5, 6, 8, 2, 7));
    ck_assert_wrong(roomy, put(1, 2, 7, 1), publish(3, 4, 9, 3), rearm(5, 6, 8, 2, 9));
    /* Seen to have gone, it does not come back. */
    ck_assert_wrong(narrow, put(1, 2, 7, 1), see(3, 4, 0), rearm(5, 6, 8, 1, 7));
    ck_assert_right(aging, put(1, 2, 7, 1), see(3, 4, 0), rearm(5, 6, 8, 1, 7));
}
END_TEST

START_TEST(what_is_soft_is_confirmed_by_who_began_after_it)
{
    ck_assert_right(aging, put(1, 2, 7, 1), soften(3, 4, 2), rearm(5, 6, 8, 2, 7), see(7, 8, 8));
    ck_assert_wrong(aging, put(1, 2, 7, 1), soften(3, 4, 2), rearm(5, 6, 8, 1, 7));
    ck_assert_right(aging, put(1, 2, 7, 1), soften(3, 6, 2), rearm(4, 5, 8, 1, 7));
}
END_TEST

HGI_SUITE("sim.linear", 20, what_was_put_is_read_and_nothing_else,
          no_read_begun_after_an_invalidation_sees_what_was_before,
          two_readers_see_two_writes_in_one_order, the_numbers_that_were_taken_are_the_order,
          where_there_is_room_no_write_is_lost, a_load_overtaken_is_not_there,
          an_older_value_does_not_replace_a_younger, a_token_that_was_let_in_had_not_been_overtaken,
          what_is_soft_is_read_stale_and_keeps_the_older_out, a_tag_ends_what_has_it,
          what_may_be_so_or_so_is_settled_by_a_later_window,
          a_birth_that_is_not_known_excuses_no_more_than_it_must,
          time_that_passes_may_take_a_value_along, a_full_window_is_looked_at_and_one_more_is_not,
          only_what_is_there_is_confirmed_and_it_is_written_anew,
          what_is_soft_is_confirmed_by_who_began_after_it)
