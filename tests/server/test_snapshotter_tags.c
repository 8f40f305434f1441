/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/tagging.h"
#include "snapshotter_scene.h"

/* Of the user u1. */
static struct hgi_entry put_tagged(struct hgi_cache *cache, const char *key, const char *tag,
                                   struct hgi_tagging *ret_tagging)
{
    const struct hg_slice name = hg_slice_text(tag);
    const struct hgi_lifetime lifetime = {
        .tags = &name, .tag_count = 1, .user = hg_slice_text("u1")};
    struct hgi_entry entry = scene_put_as(cache, key, "value", &lifetime);

    hgi_tagging_init(ret_tagging, NULL, entry.key, &lifetime);
    entry.tags = ret_tagging->names;
    entry.tag_count = ret_tagging->count;
    return entry;
}

static void invalidate(struct scene *scene, const struct hgi_cover *cover)
{
    struct hgi_now now = hgi_clock_now();
    size_t before = scene->answers.count;
    struct hgi_report report;

    hgi_cache_invalidate_cover(scene->auth, cover, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_forget(scene->snapshotter, hg_slice_text("auth"), cover,
                                            report.generation, scene_note_answer, &scene->answers),
                     HG_OK);
    scene_wait_for_answers(&scene->answers, before + 1);
}

START_TEST(a_tag_and_a_user_are_gone_from_the_disk_before_the_answer)
{
    const struct hg_slice red = hg_slice_text("red");
    struct scene scene;
    struct hgi_tagging tagging;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_run(&scene);
    put_tagged(scene.auth, "a", "red", &tagging);
    put_tagged(scene.auth, "b", "blue", &tagging);
    scene_put(scene.auth, "c", "of nobody");
    scene_save(&scene);
    /* The third is the durable put's own: its tags go with it. */
    entry = put_tagged(scene.auth, "d", "red", &tagging);
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 4);
    invalidate(&scene, &(const struct hgi_cover){.tags = &red, .tag_count = 1});
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 2);
    scene_shut_down(&scene);
    scene_run(&scene); /* they are still tags of what is restored */
    ck_assert(scene_is_cached(scene.auth, "b") && scene_is_cached(scene.auth, "c"));
    invalidate(&scene, &(const struct hgi_cover){.first_part = hg_slice_text("u1")});
    ck_assert(!scene_is_cached(scene.auth, "b") && scene_is_cached(scene.auth, "c"));
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    ck_assert_uint_eq(scene.answers.failed, 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(what_was_softened_does_not_come_back_fresh)
{
    const struct hg_slice red = hg_slice_text("red");
    const struct hg_slice key = hg_slice_text("b");
    struct scene scene;
    struct hgi_tagging tagging;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_run(&scene);
    entry = put_tagged(scene.auth, "a", "red", &tagging);
    scene_put(scene.auth, "b", "value");
    scene_save(&scene);
    invalidate(&scene,
               &(const struct hgi_cover){
                   .keys = &key, .key_count = 1, .tags = &red, .tag_count = 1, .is_soft = true});
    ck_assert(scene_is_cached(scene.auth, "a") && scene_is_cached(scene.auth, "b"));
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    /* Neither a late durable put of it nor a round that writes everything brings it back. */
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 3);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    hgi_table_mark_unsaved(hgi_cache_table(scene.auth));
    scene_put(scene.auth, "c", "value");
    scene_save(&scene);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("server.snapshotter_tags", 60, a_tag_and_a_user_are_gone_from_the_disk_before_the_answer,
          what_was_softened_does_not_come_back_fresh)
