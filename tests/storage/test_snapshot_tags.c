/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "snapshot_scene.h"
#include "storage/table/tag.h"

static void save_tagged(struct scene *scene, const char *key, uint64_t born,
                        const struct hg_slice *tags, size_t tag_count)
{
    struct hgi_entry entry = scene_entry(scene, key, "v", born);

    entry.tags = tags;
    entry.tag_count = tag_count;
    scene_put(scene, "c", &entry);
}

static void forget_tags(struct scene *scene, const struct hgi_snapshot_tag *tags, size_t tag_count)
{
    ck_assert_int_eq(hgi_snapshot_forget_tags(scene->snapshot, hg_slice_text("c"), tags, tag_count,
                                              scene->sentence),
                     HG_OK);
}

/* Every tag of every entry as it comes back, one a line. */
struct told {
    char text[512];
    size_t len;
};

static bool tell_tags(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    struct told *told = context;

    (void)cache;
    for (size_t i = 0; i < entry->tag_count; i++) {
        told->len +=
            (size_t)snprintf(told->text + told->len, sizeof(told->text) - told->len, "%.*s:%.*s\n",
                             (int)entry->key.len, (const char *)entry->key.data,
                             (int)entry->tags[i].len, (const char *)entry->tags[i].data);
    }
    return true;
}

START_TEST(tags_come_back_with_their_entry)
{
    const struct hg_slice tags[] = {hg_slice_text("tred"), hg_slice_text("tblue"),
                                    hg_slice_text("uu1")};
    struct scene scene;
    struct told told = {.len = 0};
    uint64_t restored = 0;
    uint64_t dropped = 0;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    save_tagged(&scene, "one", 1, tags, 3);
    save_tagged(&scene, "none", 2, NULL, 0);
    save_tagged(&scene, "two", 3, tags + 1, 1);
    scene_commit(&scene, 3);
    scene_restart(&scene, 0);
    ck_assert_int_eq(hgi_snapshot_restore(scene.snapshot, &scene.now, tell_tags, &told, &restored,
                                          &dropped, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(restored, 3);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_str_eq(told.text, "one:tred\none:tblue\none:uu1\ntwo:tblue\n");
    scene_leave(&scene);
}
END_TEST

START_TEST(as_many_and_as_long_tags_as_the_engine_gives_come_back)
{
    unsigned char longest[1 + HG_KEY_MAX];
    struct hg_slice tags[HGI_TAGS_MAX];
    struct scene scene;

    memset(longest, 'x', sizeof(longest));
    for (size_t i = 0; i < HGI_TAGS_MAX; i++) {
        tags[i] = hg_slice_of(longest, sizeof(longest) - i);
    }
    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    save_tagged(&scene, "k", 1, tags, HGI_TAGS_MAX);
    scene_commit(&scene, 1);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_uint_eq(scene.seen[0].entry.tag_count, HGI_TAGS_MAX);
    scene_leave(&scene);
}
END_TEST

START_TEST(rows_with_one_of_the_names_go_and_newer_ones_and_lookalikes_stay)
{
    const struct hg_slice red[] = {hg_slice_text("tother"), hg_slice_text("tred")};
    /* The same letters: of a longer name, of another kind, over the edge of two names. */
    const struct hg_slice reddish = hg_slice_text("treddish");
    const struct hg_slice user = hg_slice_text("ured");
    const struct hg_slice split[] = {hg_slice_text("t"), hg_slice_text("red")};
    const struct hg_slice blue = hg_slice_text("tblue");
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    save_tagged(&scene, "red", 5, red, 2);
    save_tagged(&scene, "red, newer", 10, red, 2);
    save_tagged(&scene, "reddish", 5, &reddish, 1);
    save_tagged(&scene, "user", 5, &user, 1);
    save_tagged(&scene, "split", 5, split, 2);
    save_tagged(&scene, "blue", 5, &blue, 1);
    save_tagged(&scene, "blue, newer", 8, &blue, 1);
    save_tagged(&scene, "bare", 5, NULL, 0);
    scene_commit(&scene, 10);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    /* Twice the same name: its later number counts. */
    forget_tags(&scene,
                (struct hgi_snapshot_tag[]){{hg_slice_text("tred"), 10},
                                            {hg_slice_text("tblue"), 8},
                                            {hg_slice_text("tred"), 9}},
                3);
    scene_commit(&scene, 10);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 6);
    ck_assert_ptr_null(scene_find(&scene, "c", "red"));
    ck_assert_ptr_null(scene_find(&scene, "c", "blue"));
    scene_leave(&scene);
}
END_TEST

START_TEST(a_name_of_another_cache_is_another_name)
{
    const struct hg_slice red = hg_slice_text("tred");
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    entry.tags = &red;
    entry.tag_count = 1;
    scene_save(&scene, "elsewhere", &entry);
    scene_save(&scene, "c", &entry);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    forget_tags(&scene, &(struct hgi_snapshot_tag){red, 2}, 1);
    scene_commit(&scene, 2);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_ptr_nonnull(scene_find(&scene, "elsewhere", "k"));
    scene_leave(&scene);
}
END_TEST

/* In many pages, with others between them. */
START_TEST(every_row_with_the_name_goes_however_many)
{
    enum { ROWS = 30000 };
    const struct hg_slice red = hg_slice_text("tred");
    const struct hg_slice blue = hg_slice_text("tblue");
    struct scene scene;
    uint64_t rows = 0;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    for (int i = 0; i < ROWS; i++) {
        char key[32];

        snprintf(key, sizeof(key), "key %d", i);
        save_tagged(&scene, key, 1, i % 3 ? &red : &blue, 1);
    }
    scene_commit(&scene, 1);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    forget_tags(&scene, &(struct hgi_snapshot_tag){red, 2}, 1);
    scene_commit(&scene, 2);
    while (hgi_snapshot_is_purging(scene.snapshot)) {
        scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
        scene_commit(&scene, 2);
    }
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, ROWS / 3);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.snapshot_tags", 60, tags_come_back_with_their_entry,
          as_many_and_as_long_tags_as_the_engine_gives_come_back,
          rows_with_one_of_the_names_go_and_newer_ones_and_lookalikes_stay,
          a_name_of_another_cache_is_another_name, every_row_with_the_name_goes_however_many)
