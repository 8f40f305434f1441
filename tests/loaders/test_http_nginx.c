/* SPDX-License-Identifier: Apache-2.0 */
/* The http plugin and nginx: TLS, HTTP/2, connections that are kept. */
#include "child.h"

#include <signal.h>
#include <stdio.h>

#include "backend.h"

#define PLUGIN HGI_BUILD_DIR "/lib/herdgate/http.so"

/* With the folder in two places. */
static const char config[] = "daemon off;\n"
                             "master_process off;\n"
                             "pid nginx.pid;\n"
                             "error_log error.log;\n"
                             "events { worker_connections 64; }\n"
                             "http {\n"
                             "  access_log off;\n"
                             "  client_body_temp_path body; proxy_temp_path proxy;\n"
                             "  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;\n"
                             "  scgi_temp_path scgi;\n"
                             "  server {\n"
                             "    listen unix:%s/plain.sock;\n"
                             "    listen unix:%s/tls.sock ssl http2;\n"
                             "    ssl_certificate certs/server.pem;\n"
                             "    ssl_certificate_key certs/server.key;\n"
                             "    location = /who { return 200\n"
                             "      '{\"p\":\"$server_protocol\",\"c\":\"$connection\"}'; }\n"
                             "    location = /up { return 302 https://localhost/who; }\n"
                             "    location = /down { return 302 http://localhost/who; }\n"
                             "    location / { root files; }\n"
                             "  }\n"
                             "}\n";

static struct child child;
static struct backend nginx;
static char sentence[HGI_FRAME_MESSAGE_MAX + 1];

static void in_folder(const char *name, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/%s", nginx.folder, name);
}

static void begin(void)
{
    char certs[96];
    char files[96];
    char text[sizeof(config) + 2 * sizeof(nginx.folder)];
    const char *const make[] = {HGI_SOURCE_DIR "/tests/lib/make_certs.sh", certs, NULL};
    const char *const folder[] = {"mkdir", files, NULL};
    const char *const argv[] = {"/usr/sbin/nginx", "-p", nginx.folder, "-c",
                                "nginx.conf",      "-e", "error.log",  NULL};

    backend_prepare(&nginx, "nginx");
    in_folder("certs", certs, sizeof(certs));
    in_folder("files", files, sizeof(files));
    backend_run(make);
    backend_run(folder);
    snprintf(text, sizeof(text), config, nginx.folder, nginx.folder);
    backend_write(&nginx, "nginx.conf", text);
    backend_write(&nginx, "files/page", "a page");
    backend_start(&nginx, argv, NULL, 0);
    backend_wait_socket(&nginx, "plain.sock");
    backend_wait_socket(&nginx, "tls.sock");
}

static void end(void)
{
    backend_end(&nginx, SIGTERM);
    backend_remove(&nginx);
}

static void open_at(const char *url, const char *socket_name, const char *preset, const char *ca)
{
    char path[96];
    char ca_path[96];
    const struct hgi_frame_setting settings[] = {
        {hg_slice_text("url"), hg_slice_text(url)},
        {hg_slice_text("preset"), hg_slice_text(preset)},
        {hg_slice_text("unix_socket"),
         (in_folder(socket_name, path, sizeof(path)), hg_slice_text(path))},
        {hg_slice_text("ca_file"),
         (in_folder(ca ? ca : "", ca_path, sizeof(ca_path)), hg_slice_text(ca_path))},
    };
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 2, settings, ca ? 4 : 3);

    ck_assert_msg(ready->status == HG_OK, "%.*s", (int)ready->message.len,
                  (const char *)ready->message.data);
}

static void load(uint64_t id, const char *key, char *ret_value, size_t size)
{
    const struct hgi_frame_done *done;

    child_load_bytes(&child, id, key, HG_TYPE_BYTES);
    done = child_done(&child, id);
    ck_assert_msg(done->status == HG_OK, "%.*s", (int)done->message.len,
                  (const char *)done->message.data);
    snprintf(ret_value, size, "%.*s", (int)done->value.len, (const char *)done->value.data);
}

static void assert_kept(const char *url, const char *socket_name, const char *ca,
                        const char *protocol)
{
    char first[128];
    char second[128];

    open_at(url, socket_name, "json", ca);
    load(1, "who", first, sizeof(first));
    load(2, "who", second, sizeof(second));
    ck_assert_msg(strstr(first, protocol) != NULL, "%s is not by %s", first, protocol);
    ck_assert_str_eq(first, second); /* the connection's number among it */
    child_end(&child);
}

static void assert_untrusted(const char *url, const char *ca)
{
    const struct hgi_frame_done *done;

    open_at(url, "tls.sock", "json", ca);
    child_load_bytes(&child, 1, "who", HG_TYPE_BYTES);
    done = child_done(&child, 1);
    snprintf(sentence, sizeof(sentence), "%.*s", (int)done->message.len,
             (const char *)done->message.data);
    ck_assert_int_eq(done->status, HG_UNAVAILABLE);
    ck_assert_msg(strstr(sentence, "certificate") || strstr(sentence, "CA"), "%s", sentence);
    child_end(&child);
}

START_TEST(connections_are_kept_and_shared)
{
    begin();
    assert_kept("http://localhost/{key}", "plain.sock", NULL, "HTTP/1.1");
    assert_kept("https://localhost/{key}", "tls.sock", "certs/ca.pem", "HTTP/2.0");
    end();
}
END_TEST

/* All in flight on the one connection that HTTP/2 needs. */
START_TEST(loads_that_come_together_share_a_connection)
{
    char connection[64] = "";

    begin();
    open_at("https://localhost/who?{key}", "tls.sock", "json", "certs/ca.pem");
    child_load_many(&child, 32);
    for (uint32_t i = 0; i < 32; i++) {
        const struct hgi_frame_done *done = &child_read(&child)->u.done;
        char own[64];

        ck_assert_int_eq(done->status, HG_OK);
        snprintf(own, sizeof(own), "%.*s", (int)done->value.len, (const char *)done->value.data);
        ck_assert(i == 0 || strcmp(own, connection) == 0);
        memcpy(connection, own, sizeof(own));
    }
    child_end(&child);
    end();
}
END_TEST

START_TEST(certificates_are_checked)
{
    begin();
    assert_untrusted("https://localhost/{key}", NULL);
    assert_untrusted("https://localhost/{key}", "certs/other-ca.pem");
    assert_untrusted("https://elsewhere.example/{key}", "certs/ca.pem");
    end();
}
END_TEST

/* What was to go under TLS, a token in a header of its own it may be, would be there to be read. */
START_TEST(no_redirect_leads_out_of_tls)
{
    char path[96];
    char ca_path[96];
    const struct hgi_frame_done *done;

    begin();
    in_folder("tls.sock", path, sizeof(path));
    in_folder("certs/ca.pem", ca_path, sizeof(ca_path));
    const struct hgi_frame_setting settings[] = {
        {hg_slice_text("url"), hg_slice_text("https://localhost/{key}")},
        {hg_slice_text("unix_socket"), hg_slice_text(path)},
        {hg_slice_text("ca_file"), hg_slice_text(ca_path)},
        {hg_slice_text("redirects_max"), hg_slice_text("1")},
        {hg_slice_text("value"), hg_slice_text("/p")},
    };
    ck_assert_int_eq(child_open(&child, PLUGIN, 1, settings, 5)->status, HG_OK);
    child_load_bytes(&child, 1, "up", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "HTTP/2.0");
    child_load_bytes(&child, 2, "down", HG_TYPE_BYTES);
    done = child_done(&child, 2);
    ck_assert_int_eq(done->status, HG_FAILED_PRECONDITION);
    ck_assert_slice_eq(done->message, "the server redirects to what is not https");
    child_end(&child);
    end();
}
END_TEST

START_TEST(a_file_that_has_not_changed_is_not_sent_again)
{
    const struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("page")};
    const struct hgi_frame_done *done;
    char etag[HG_ETAG_MAX + 1];

    begin();
    open_at("http://localhost/{key}", "plain.sock", "body", NULL);
    child_load_bytes(&child, 1, "page", HG_TYPE_BYTES);
    done = child_done(&child, 1);
    ck_assert_slice_eq(done->value, "a page");
    ck_assert_uint_gt(done->etag.len, 0);
    snprintf(etag, sizeof(etag), "%.*s", (int)done->etag.len, (const char *)done->etag.data);
    child_load_old(&child, 2, &key, HG_TYPE_BYTES, "a page", etag);
    ck_assert(child_done(&child, 2)->is_unchanged);
    child_load_bytes(&child, 3, "no page", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 3)->outcome, HG_ABSENT);
    child_end(&child);
    end();
}
END_TEST

HGI_SUITE("loaders.http_nginx", 60, connections_are_kept_and_shared,
          loads_that_come_together_share_a_connection, certificates_are_checked,
          no_redirect_leads_out_of_tls, a_file_that_has_not_changed_is_not_sent_again)
