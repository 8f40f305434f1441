/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <sodium.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "client/cli/cli.h"

#define CELL_GAP       2u
#define CELLS_AT_FIRST 64u

bool hgi_is_utf8(struct hg_slice bytes)
{
    json_t *text = json_stringn(bytes.len ? bytes.data : "", bytes.len);
    bool is_utf8 = text != NULL;

    json_decref(text);
    return is_utf8;
}

void hgi_json_set_bytes(json_t *object, const char *name, struct hg_slice bytes)
{
    json_t *text = json_stringn(bytes.len ? bytes.data : "", bytes.len);
    size_t size;
    char *base64;
    char long_name[64];

    if (text) {
        (void)json_object_set_new(object, name, text);
        return;
    }
    size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    base64 = hgi_cli_must(hgi_alloc(&hgi_heap, size));
    sodium_bin2base64(base64, size, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
    snprintf(long_name, sizeof(long_name), "%s_base64", name);
    (void)json_object_set_new(object, long_name, json_string(base64));
    hgi_free(&hgi_heap, base64);
}

void hgi_json_set_number(json_t *object, const char *name, uint64_t number)
{
    /* JSON has no unsigned numbers; the server's stay under 2^53, an epoch goes as text. */
    (void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

void hgi_json_print(FILE *file, json_t *value)
{
    (void)hgi_cli_must(value);
    (void)json_dumpf(value, file, JSON_COMPACT | JSON_ENCODE_ANY);
    fputc('\n', file);
    json_decref(value);
}

static bool is_plain(unsigned char byte, bool is_utf8)
{
    if (byte == '\\' || byte < 0x20 || byte == 0x7f) {
        return false;
    }
    return byte < 0x80 || is_utf8;
}

void hgi_print_escaped(FILE *file, struct hg_slice bytes)
{
    const unsigned char *data = bytes.data;
    bool is_utf8 = hgi_is_utf8(bytes);

    for (size_t i = 0; i < bytes.len; i++) {
        /* C1 controls, two bytes in UTF-8, steer terminals too. */
        bool is_c1 = is_utf8 && data[i] == 0xc2 && i + 1 < bytes.len && data[i + 1] < 0xa0;

        if (is_c1) {
            fprintf(file, "\\x%02x\\x%02x", data[i], data[i + 1]);
            i++;
        } else if (is_plain(data[i], is_utf8)) {
            fputc(data[i], file);
        } else {
            fprintf(file, "\\x%02x", data[i]);
        }
    }
}

/* ---- tables ---- */

void hgi_table_init(struct hgi_table *table, const char *alignment)
{
    HGI_BUG_ON(strlen(alignment) > HGI_TABLE_COLUMNS_MAX);
    table->alignment = alignment;
    table->cells = NULL;
    table->count = 0;
    table->capacity = 0;
}

static void add_taken(struct hgi_table *table, char *cell)
{
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? table->capacity * 2 : CELLS_AT_FIRST;
        table->cells = hgi_cli_must(
            hgi_resize(&hgi_heap, (void *)table->cells, table->capacity * sizeof(*table->cells)));
    }
    table->cells[table->count++] = cell;
}

void hgi_table_add_slice(struct hgi_table *table, struct hg_slice text)
{
    size_t size = text.len * 4 + 1; /* each byte may become \xNN */
    char *cell = hgi_cli_must(hgi_alloc(&hgi_heap, size));
    FILE *memory = hgi_cli_must(fmemopen(cell, size, "w"));

    hgi_print_escaped(memory, text);
    fclose(memory);
    add_taken(table, cell);
}

void hgi_table_add(struct hgi_table *table, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    hgi_table_add_slice(table, hg_slice_text(text));
}

void hgi_table_add_row(struct hgi_table *table, const char *const *cells)
{
    for (size_t i = 0; table->alignment[i]; i++) {
        hgi_table_add_slice(table, hg_slice_text(cells[i]));
    }
}

/* Characters, not bytes. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

void hgi_table_write(FILE *file, const struct hgi_table *table)
{
    size_t columns = strlen(table->alignment);
    size_t widths[HGI_TABLE_COLUMNS_MAX] = {0};
    size_t gap = 0;

    for (size_t i = 0; i < table->count; i++) {
        size_t width = width_of(table->cells[i]);

        if (width > widths[i % columns]) {
            widths[i % columns] = width;
        }
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % columns;
        size_t pad = widths[column] - width_of(table->cells[i]);
        bool is_right = table->alignment[column] == 'r';

        gap += is_right ? pad : 0;
        if (*table->cells[i]) { /* so that no line ends in blanks */
            fprintf(file, "%*s%s", (int)gap, "", table->cells[i]);
            gap = 0;
        }
        gap += is_right ? 0 : pad;
        gap += CELL_GAP;
        if (column + 1 == columns) {
            fputc('\n', file);
            gap = 0;
        }
    }
}

void hgi_table_print(const struct hgi_table *table)
{
    hgi_table_write(stdout, table);
}

void hgi_table_deinit(struct hgi_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        hgi_free(&hgi_heap, table->cells[i]);
    }
    hgi_free(&hgi_heap, (void *)table->cells);
    hgi_table_init(table, table->alignment);
}

const char *hgi_duration_text(uint64_t ms, char *ret_text)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};

    snprintf(ret_text, HGI_DURATION_MAX, "%jums", (uintmax_t)ms);
    for (size_t i = 0; i < HGI_COUNT_OF(units); i++) {
        uint64_t tenths = ms % units[i].ms * 10 / units[i].ms;

        if (ms < units[i].ms) {
            continue;
        }
        if (tenths) {
            snprintf(ret_text, HGI_DURATION_MAX, "%ju.%ju%s", (uintmax_t)(ms / units[i].ms),
                     (uintmax_t)tenths, units[i].unit);
        } else {
            snprintf(ret_text, HGI_DURATION_MAX, "%ju%s", (uintmax_t)(ms / units[i].ms),
                     units[i].unit);
        }
        break;
    }
    return ret_text;
}

const char *hgi_instant_text(int64_t unix_ms, char *ret_text)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm calendar;
    size_t len;

    if (!gmtime_r(&seconds, &calendar) ||
        (len = strftime(ret_text, HGI_DURATION_MAX, "%Y-%m-%dT%H:%M:%S", &calendar)) == 0) {
        snprintf(ret_text, HGI_DURATION_MAX, "%jd ms", (intmax_t)unix_ms);
        return ret_text;
    }
    snprintf(ret_text + len, HGI_DURATION_MAX - len, ".%03dZ", (int)(unix_ms % 1000));
    return ret_text;
}
