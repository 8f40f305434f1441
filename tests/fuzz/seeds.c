/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus: real messages, from the samples that the codecs' own tests hold to protoc's bytes.
 * Usage: fuzz_seeds --write FOLDER, or --check FOLDER: is each there, and as it would be written?
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "codec_samples.h"
#include "fuzz.h"
#include "proto/frame.h"
#include "proto/sp.h"
#include "server/option.h"
#include "storage/snapshot/row.h"

#define NOW_WALL_MS INT64_C(1700000000000)
#define LITERAL(s)  hg_slice_of((s), sizeof(s) - 1)

static const char *folder;
static bool is_check;
static int faults;
static struct hg_bytes out; /* the seed being made */

static void put(struct hg_slice bytes)
{
    HGI_BUG_ON(!hgi_bytes_append(&out, bytes));
}

static void put_number(uint64_t number, size_t bytes)
{
    while (bytes--) {
        unsigned char byte = (unsigned char)(number >> (8 * bytes));

        put(hg_slice_of(&byte, 1));
    }
}

static void put_sized(struct hg_slice bytes)
{
    put_number(bytes.len, 2);
    put(bytes);
}

static void put_hex(const char *digits)
{
    static unsigned char bytes[4096];
    size_t len;

    HGI_BUG_ON(sodium_hex2bin(bytes, sizeof(bytes), digits, strlen(digits), NULL, &len, NULL) != 0);
    put(hg_slice_of(bytes, len));
}

static void write_seed(const char *path)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(out.data, 1, out.len, file) != out.len) {
        perror(path);
        faults++;
    }
    if (file) {
        fclose(file);
    }
}

static void check_seed(const char *path)
{
    static unsigned char bytes[HGI_FUZZ_INPUT_MAX];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

    if (file) {
        fclose(file);
    }
    if (!file || size != out.len || (size && memcmp(bytes, out.data, size) != 0)) {
        fprintf(stderr, "%s: is not what it would be written as; fuzz_seeds --write\n", path);
        faults++;
    }
}

/* Ends the seed. */
static void emit(const char *target, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, target);
    if (!is_check && mkdir(path, 0755) != 0 && errno != EEXIST) {
        perror(path);
        faults++;
    }
    snprintf(path, sizeof(path), "%s/%s/%s", folder, target, name);
    (is_check ? check_seed : write_seed)(path);
    out.len = 0;
}

/* ---- envelope and messages ---- */

/* A packed request of the method around the payload. */
static void put_request(enum hgi_method method, struct hg_slice payload, const char *op_id,
                        struct hg_bytes *ret_bytes)
{
    const struct hgi_request request = {
        .method = method, .timeout_ms = 1000, .payload = payload, .op_id = hg_slice_text(op_id)};

    HGI_BUG_ON(!hgi_request_encode(&request, ret_bytes));
}

static void seed_messages(void)
{
    static const struct {
        const char *name;
        const char *hex;
    } golden[] = {
#define HGI_GOLDEN_ROW(name, hex) {#name, hex},
#include "golden.def"
#undef HGI_GOLDEN_ROW
    };
    unsigned char which = 0;

    for (size_t i = 0; i < HGI_COUNT_OF(golden); i++) {
        bool is_request = strcmp(golden[i].name, "request") == 0;

        if (is_request || strcmp(golden[i].name, "reply") == 0) {
            put_number(!is_request, 1);
            put_hex(golden[i].hex);
            emit("envelope", golden[i].name);
        } else {
            put_number(which++, 1);
            put_hex(golden[i].hex);
            emit("message", golden[i].name);
        }
    }
}

/* ---- requests, as steps of target_request.c ---- */

enum { ASK_OWNER = 0, ASK_OTHER = 1, ASK_READER = 2 };
enum { END_VALUE = 200, END_ERROR = 225, END_LOST = 235, TICK = 240, OWNER_GOES = 249 };

static void ask(unsigned who, enum hgi_method method, struct hg_slice payload, const char *op_id)
{
    struct hg_bytes request;

    hgi_bytes_init(&request, &hgi_heap);
    put_request(method, payload, op_id, &request);
    put_number(who, 1);
    put_sized(hgi_bytes_slice(&request));
    hgi_bytes_deinit(&request);
}

#define ASK(who, method, encode, message, op_id)                                                   \
    do {                                                                                           \
        struct hg_bytes payload_;                                                                  \
                                                                                                   \
        hgi_bytes_init(&payload_, &hgi_heap);                                                      \
        HGI_BUG_ON(!encode((message), &payload_));                                                 \
        ask((who), (method), hgi_bytes_slice(&payload_), (op_id));                                 \
        hgi_bytes_deinit(&payload_);                                                               \
    } while (0)

static void seed_reads(void)
{
    struct hg_key keys[2] = {{.kind = HG_KEY_BYTES, .bytes = LITERAL("k")},
                             {.kind = HG_KEY_BYTES, .bytes = LITERAL("l")}};
    struct hgi_msg_get get = {.cache = LITERAL("c"), .key = keys[0], .max_age_ms = -1};
    struct hgi_msg_batch batch = {
        .cache = LITERAL("c"), .keys = keys, .key_count = 2, .max_age_ms = -1};
    struct hgi_msg_explain explain = {.cache = LITERAL("c"), .key = keys[0]};

    ASK(ASK_OWNER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    ASK(ASK_READER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    put_number(END_VALUE, 1);
    put_sized(LITERAL("value"));
    ASK(ASK_OTHER, HGI_METHOD_GET, hgi_get_request_encode, &get, "");
    ASK(ASK_OWNER, HGI_METHOD_EXPLAIN, hgi_explain_request_encode, &explain, "");
    emit("request", "load-shared");

    ASK(ASK_OWNER, HGI_METHOD_BATCH_GET_OR_LOAD, hgi_batch_request_encode, &batch, "");
    put_number(END_ERROR, 1);
    put_number(END_LOST, 1);
    put_number(END_VALUE, 1);
    put_sized(LITERAL("value"));
    put_number(TICK, 1);
    emit("request", "batch-error-lost");

    get.lead = true;
    ASK(ASK_OWNER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    ASK(ASK_OTHER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    put_number(OWNER_GOES, 1);
    emit("request", "leader-goes");
}

static void seed_writes(void)
{
    static const char op_id[] = "0123456789abcdef";
    struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = LITERAL("k")};
    struct hg_key user_key = {
        .kind = HG_KEY_USER_API_KEY, .user_id = LITERAL("u"), .api_key_id = LITERAL("a")};
    struct hgi_msg_put put_message = {
        .cache = LITERAL("p"), .key = key, .outcome = HG_VALUE, .value = LITERAL("{\"a\":[1]}")};
    struct hgi_msg_invalidate invalidate = {.cache = LITERAL("c"), .keys = &key, .key_count = 1};
    struct hgi_msg_get get = {.cache = LITERAL("c"), .key = key, .max_age_ms = -1, .lead = true};
    struct hgi_msg_fulfil fulfil = hgi_sample_fulfil_request;
    struct hgi_msg_clear clear = {.cache = LITERAL("c"), .waits = true};

    ASK(ASK_OWNER, HGI_METHOD_PUT, hgi_put_request_encode, &put_message, op_id);
    ASK(ASK_OWNER, HGI_METHOD_PUT, hgi_put_request_encode, &put_message, op_id);
    put_message.cache = LITERAL("u");
    put_message.key = user_key;
    ASK(ASK_OTHER, HGI_METHOD_PUT, hgi_put_request_encode, &put_message, "");
    ASK(ASK_READER, HGI_METHOD_PUT, hgi_put_request_encode, &put_message, "");
    emit("request", "puts");

    fulfil.lease_id = 1;
    fulfil.outcome = HG_VALUE;
    fulfil.status = HG_OK;
    ASK(ASK_OWNER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    ASK(ASK_OWNER, HGI_METHOD_INVALIDATE, hgi_invalidate_request_encode, &invalidate, "");
    ASK(ASK_OWNER, HGI_METHOD_RENEW, hgi_renew_request_encode, &hgi_sample_renew_request, "");
    ASK(ASK_OWNER, HGI_METHOD_FULFIL, hgi_fulfil_request_encode, &fulfil, "");
    ASK(ASK_OWNER, HGI_METHOD_RELEASE, hgi_release_request_encode, &hgi_sample_release_request, "");
    emit("request", "lease");

    get.lead = false;
    ASK(ASK_OWNER, HGI_METHOD_GET_OR_LOAD, hgi_get_request_encode, &get, "");
    ASK(ASK_OWNER, HGI_METHOD_LIST_FLIGHTS, hgi_list_flights_request_encode,
        &hgi_sample_list_flights_request, "");
    ASK(ASK_OWNER, HGI_METHOD_CLEAR, hgi_clear_request_encode, &clear, "");
    ASK(ASK_READER, HGI_METHOD_WATCH, hgi_watch_request_encode, &hgi_sample_watch_request, "");
    put_number(END_VALUE, 1);
    put_sized(LITERAL("late"));
    put_number(TICK, 1);
    emit("request", "clear-waits");
}

static void seed_administration(void)
{
    static const enum hgi_method empty[] = {HGI_METHOD_LIST_CACHES,   HGI_METHOD_STATS,
                                            HGI_METHOD_LIST_LOADERS,  HGI_METHOD_SAVE_SNAPSHOT,
                                            HGI_METHOD_SNAPSHOT_INFO, HGI_METHOD_VERIFY_SNAPSHOT,
                                            HGI_METHOD_HEALTH_CHECK};

    for (size_t i = 0; i < HGI_COUNT_OF(empty); i++) {
        ask(ASK_OWNER, empty[i], hg_slice_of(NULL, 0), "");
    }
    ASK(ASK_OWNER, HGI_METHOD_RELOAD_LOADER, hgi_reload_loader_request_encode,
        &hgi_sample_reload_loader_request, "");
    ASK(ASK_OWNER, HGI_METHOD_KILL_FLIGHT, hgi_kill_flight_request_encode,
        &hgi_sample_kill_flight_request, "");
    ASK(ASK_OWNER, HGI_METHOD_GENERATION, hgi_generation_request_encode,
        &hgi_sample_generation_request, "");
    emit("request", "administration");
}

/* ---- frames ---- */

static void seed_sp(void)
{
    static const enum hgi_sp_transport transports[] = {HGI_SP_IPC, HGI_SP_TCP};
    static const char *const names[] = {"ipc", "tcp"};

    for (size_t i = 0; i < HGI_COUNT_OF(transports); i++) {
        unsigned char bytes[HGI_SP_HEAD_MAX];

        put_number(i | 6u << 1, 1); /* seven bytes at a time */
        hgi_sp_handshake(HGI_SP_REQ, bytes);
        put(hg_slice_of(bytes, HGI_SP_HANDSHAKE_LEN));
        for (uint32_t id = 1; id <= 2; id++) {
            struct hgi_sp_route route = hgi_sp_route_of(id);
            struct hg_bytes request;

            hgi_bytes_init(&request, &hgi_heap);
            put_request(HGI_METHOD_HEALTH_CHECK, hg_slice_of(NULL, 0), "", &request);
            put(hg_slice_of(bytes, hgi_sp_head(transports[i], &route, request.len, bytes)));
            put(hgi_bytes_slice(&request));
            hgi_bytes_deinit(&request);
        }
        emit("sp", names[i]);
    }
}

static void put_frame(const struct hgi_frame *frame)
{
    HGI_BUG_ON(!hgi_frame_encode(frame, HGI_FRAME_SERVER_MAX, &out));
}

static void seed_server_says(void)
{
    const struct hgi_frame_setting settings[] = {{LITERAL("database"), LITERAL("/x.db")}};
    const struct hgi_frame_load loads[] = {{.id = 1,
                                            .cache = LITERAL("c"),
                                            .key = LITERAL("\x01k"),
                                            .value_type = HG_TYPE_BYTES,
                                            .attempt = 1,
                                            .remaining_ms = 1000},
                                           {.id = 2,
                                            .cache = LITERAL("c"),
                                            .key = LITERAL("\x01l"),
                                            .value_type = HG_TYPE_JSON,
                                            .attempt = 2,
                                            .has_old = true,
                                            .old_value = LITERAL("{}"),
                                            .etag = LITERAL("v1")}};
    const uint32_t owners[] = {0, 1000};
    struct hgi_frame frame = {
        .kind = HGI_FRAME_HELLO,
        .u.hello = {LITERAL("/x.so"),
                    4,
                    65536,
                    settings,
                    1,
                    LITERAL("ab12"),
                    owners,
                    2,
                    {1u << 30, 64, 32, 5, LITERAL("/a:/b"), LITERAL("/c"), true, true, true, 7, 8},
                    false,
                    true}};

    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_LOAD, .u.load = loads[1]};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_LOADS, .u.loads = {loads, 2}};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_CANCEL, .u.cancel_id = 1};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_HEALTH};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_DRAIN};
    put_frame(&frame);
    emit("server_says", "all");
}

static void seed_loader_says(void)
{
    const struct hg_slice tags[] = {LITERAL("plan"), LITERAL("eu")};
    struct hgi_frame value = {.kind = HGI_FRAME_DONE,
                              .u.done = {.id = 1,
                                         .outcome = HG_VALUE,
                                         .value = LITERAL("value"),
                                         .ttl_ms = 50,
                                         .tags = tags,
                                         .tag_count = 2,
                                         .user = LITERAL("ann"),
                                         .etag = LITERAL("v2")}};
    struct hgi_frame frame = {.kind = HGI_FRAME_READY,
                              .u.ready = {.name = LITERAL("l"),
                                          .version = LITERAL("1"),
                                          .abi = 1,
                                          .max_inflight = 4,
                                          .has_health = true,
                                          .batch_max = 2,
                                          .is_async = true,
                                          .wants_old = true,
                                          .invalidates = true}};

    put_number(1, 1);
    put_frame(&frame);
    put_frame(&value);
    emit("loader_says", "ready");

    put_number(0, 1);
    put_frame(&value);
    frame = (struct hgi_frame){
        .kind = HGI_FRAME_DONE,
        .u.done = {.id = 2, .status = HG_UNAVAILABLE, .message = LITERAL("away")}};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_DONE, .u.done = {.id = 3, .outcome = HG_ABSENT}};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_DONE,
                               .u.done = {.id = 4, .outcome = HG_VALUE, .is_unchanged = true}};
    put_frame(&frame);
    frame = (struct hgi_frame){.kind = HGI_FRAME_LOG, .u.log = {HG_LOG_WARN, LITERAL("hm")}};
    put_frame(&frame);
    emit("loader_says", "answers");

    put_number(0, 1);
    for (int what = HG_INVALIDATED_ALL; what <= HG_INVALIDATED_USER; what++) {
        frame = (struct hgi_frame){.kind = HGI_FRAME_INVALIDATE,
                                   .u.invalidate = {.what = (enum hg_invalidated)what}};
        if (what == HG_INVALIDATED_KEY) {
            frame.u.invalidate.key = LITERAL("key 1");
        } else if (what != HG_INVALIDATED_ALL) {
            frame.u.invalidate.name = LITERAL("ann");
            frame.u.invalidate.cache = LITERAL("c");
        }
        put_frame(&frame);
    }
    put_frame(&value);
    emit("loader_says", "invalidations");

    frame = (struct hgi_frame){.kind = HGI_FRAME_HEALTH_REPLY,
                               .u.health = {HG_UNAVAILABLE, LITERAL("no backend")}};
    put_number(2, 1);
    put_frame(&frame);
    emit("loader_says", "unhealthy");

    put_number(3, 1);
    put_frame(&value);
    emit("loader_says", "draining");
}

/* ---- rows and configurations ---- */

static void put_row(const struct hgi_row *row)
{
    const int64_t numbers[] = {
        row->outcome,      row->born,       row->saved_ms,        row->age_ms, row->ttl_ms,
        row->stale_ttl_ms, row->expires_ms, row->expires_left_ms, row->over_ms};

    for (size_t i = 0; i < HGI_COUNT_OF(numbers); i++) {
        put_number((uint64_t)numbers[i], 8);
    }
    put_sized(row->key);
    put_sized(row->value);
    put_sized(row->tags);
    put_sized(row->etag);
}

static void seed_rows(void)
{
    const struct hg_slice tags[] = {LITERAL("tplan"), LITERAL("uann")};
    const struct hgi_now now = {.boot_ms = 500000, .wall_ms = NOW_WALL_MS - 1000};
    struct hgi_entry entry = {.key = LITERAL("\x01key"),
                              .value = LITERAL("value"),
                              .etag = LITERAL("v1"),
                              .outcome = HG_VALUE,
                              .born = 7,
                              .published_ms = now.boot_ms - 100,
                              .ttl_ms = 60000,
                              .stale_ttl_ms = 90000,
                              .tags = tags,
                              .tag_count = 2,
                              .expires_wall_ms = NOW_WALL_MS + 50000,
                              .expires_boot_ms = now.boot_ms + 51000};
    struct hg_bytes column;
    struct hgi_row row;

    hgi_bytes_init(&column, &hgi_heap);
    HGI_BUG_ON(!hgi_row_of_entry(&entry, &now, &row) || !hgi_row_tags_set(&row, &entry, &column));
    put_row(&row);
    emit("row", "value");
    entry = (struct hgi_entry){.key = LITERAL("\x01none"),
                               .outcome = HG_ABSENT,
                               .born = 8,
                               .published_ms = now.boot_ms,
                               .ttl_ms = 5000,
                               .stale_ttl_ms = 5000};
    HGI_BUG_ON(!hgi_row_of_entry(&entry, &now, &row) || !hgi_row_tags_set(&row, &entry, &column));
    put_row(&row);
    emit("row", "absent");
    hgi_bytes_deinit(&column);
}

/* Every option of a section that has a value to be left out for. */
static void put_options(const char *section)
{
    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        if (strcmp(option->section, section) == 0 && option->fallback &&
            option->fallback[0] != '=') {
            put(hg_slice_text(option->name));
            put(LITERAL(" = \""));
            put(hg_slice_text(option->fallback));
            put(LITERAL("\"\n"));
        }
    }
}

static void seed_config(void)
{
    put(LITERAL("listen \"ipc:///x/s\" { access = \"owner\" }\n"
                "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n"));
    emit("config", "smallest");
    put(LITERAL("/* every option */ # once\n"));
    put_options("global");
    put(LITERAL("peers = \"0, 1000\"\nplugin_dir = '/p'\nloader_program = \"${X:-/bin/l}\"\n"
                "listen \"tcp://127.0.0.1:7448\" { access = \"data\" }\n"
                "limits {\n"));
    put_options("limits");
    put(LITERAL("}\nsnapshot { path = \"/x/c.db\"\n"));
    put_options("snapshot");
    put(LITERAL("}\nloader \"l\" { plugin = \"static\" option(\"file\", \"a\\tb\")\n"));
    put_options("loader");
    put(LITERAL("}\ncache \"a\" { key = \"auth\" value = \"auth\" loader = \"l\" // rest\n"));
    put_options("cache");
    put(LITERAL("stale_ttl = \"2m\" mode = \"revalidate\" wait_budget = \"9s\"\n}\n"
                "http \"http://[::1]:7480\" { services = \"operator\" access = \"data\"\n"));
    put_options("http");
    put(LITERAL("}\nhttp \"unix:///x/h\" { services = \"authz\" }\nauthz \"a\" {\n"
                "facts = \"path, method\" header(\"X-A\", \"attribute:plan\")\n"));
    put_options("authz");
    put(LITERAL("}\n"));
    emit("config", "every-option");
}

static void seed_gateway(void)
{
    put(LITERAL("/authz/a/buy?key=a%2Bb&x\nHost: Shop.example\nAuthorization: Bearer abc.DEF=\n"
                "Cookie: a=1; key=\"v\"\nX-Api-Key: k\nX-Forwarded-Method: POST\n"
                "X-Forwarded-Host: shop.example\nX-Forwarded-Uri: /buy?key=1\n\n"
                "{\"user\":{\"id\":\"u\"},\"roles\":[\"a\",1],\"key\":\"k\",\"value\":\"v\"}"));
    emit("gateway", "forwarded");
    put(LITERAL(
        "/authz/a\nX-Original-URI: /a\nX-Original-Method: GET\nX-Original-Host: h\n\n"
        "{\"key\":{\"user_id\":\"u\",\"api_key_id\":\"k\",\"standalone\":true},"
        "\"value\":{\"user_id\":\"u\",\"api_key_id\":\"k\",\"allowed\":true,\"scopes\":[\"r\"],"
        "\"attributes\":{\"plan\":\"gold\"},\"not_after_ms\":1}}"));
    emit("gateway", "original");
    put(LITERAL("http://h/a?b\nHost: h\n\n{\"value_base64\":\"/wA=\",\"key\":\"a\\nb\"}"));
    emit("gateway", "request");
}

int main(int argc, char **argv)
{
    is_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 3 || (!is_check && strcmp(argv[1], "--write") != 0)) {
        fprintf(stderr, "usage: fuzz_seeds --write|--check FOLDER\n");
        return 2;
    }
    folder = argv[2];
    hgi_bytes_init(&out, &hgi_heap);
    seed_messages();
    seed_reads();
    seed_writes();
    seed_administration();
    seed_sp();
    seed_server_says();
    seed_loader_says();
    seed_rows();
    seed_config();
    seed_gateway();
    hgi_bytes_deinit(&out);
    return faults ? 1 : 0;
}
