# SPDX-License-Identifier: Apache-2.0
# bite: each lint finds the fault it is there for and passes what is right. Usage: perl bite.pl LINT [ARGUMENT...]
use strict;
use warnings;
use FindBin;
use File::Path qw(make_path);
use File::Temp qw(tempdir);

my $five    = "/* SPDX-License-Identifier: Apache-2.0 */\n/* x: a thing.\n * Owns:     a.\n * Threads:  b.\n * Limits:   c.\n"
    . " * Errors:   d.\n * Not here: e. */\n";
my $licence = "/* SPDX-License-Identifier: Apache-2.0 */\n";
my $shell   = "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n";
my $w       = '/' . 'work/x';

# lint => [[file, text, what it must say; undef: nothing], ...]
my %samples = (
    includes => [
        [ 'base/a.c',             "#include \"storage/table/table.h\"\n",  'base/a\.c:1: base may not look into storage/table' ],
        [ 'server/cache/a.c',     "\n#include \"storage/snapshot/s.h\"\n", 'a\.c:2: server/cache may not look into storage/snapshot' ],
        [ 'server/cache/a.c',     "#include \"server/config.h\"\n",        'server/cache may not look into server' ],
        [ 'client/a.c',           "#include \"server/config.h\"\n",        'client may not look into server' ],
        [ 'client/examples/a.c',  "#include \"base/alloc.h\"\n",           'client/examples may not look into base' ],
        [ 'proto/a.c',            "#include \"storage/table/table.h\"\n",  'proto may not look into storage/table' ],
        [ 'loaders/sqlite/a.c',   "#include \"base/alloc.h\"\n",           'loaders/sqlite may not look into base' ],
        [ 'loaders/host/a.c',     "#include \"server/cache/cache.h\"\n",   'loaders/host may not look into server/cache' ],
        [ 'loaders/contract/a.c', "#include \"loaders/host/host.h\"\n",    'loaders/contract may not look into loaders/host' ],
        [ 'include/herdgate/a.h', "#include \"base/alloc.h\"\n",           'include may not look into base' ],
        [ 'server/a.c',           "#include \"stdio.h/x.h\"\n",            'in no room' ],
        [ 'server/a.c', "#include \"a.h\"\n#include \"proto/sp.h\"\n#include \"storage/snapshot/snapshot.h\"\n", undef ],
        [ 'loaders/x/a.c',        "#include \"herdgate/loader.h\"\n#include \"a.h\"\n",                          undef ],
        [ 'tests/base/a.c',       "#include \"server/config.h\"\n",                                              undef ],
    ],
    words => [
        [ 'server/dispatch.c',     "nng_aio *a;\n",           'dispatch\.c:1: "nng_aio"' ],
        [ 'server/rpc/dispatch.c', "\nnng_free(a, 1);\n",     'dispatch\.c:2: "nng_free"' ],
        [ 'server/main.c',         "sqlite3_open(a, b);\n",   '"sqlite3_open"' ],
        [ 'server/rpc/a.c',        "Herdgate__V1__X x;\n",    '"Herdgate__V1__X"' ],
        [ 'proto/sp.c',            "Grpc__Health__V1 x;\n",   '"Grpc__Health__V1"' ],
        [ 'server/a.c',            "x = dlopen(p, 1);\n",     '"dlopen"' ],
        [ 'storage/table/a.c',     "clock_gettime(0, &t);\n", '"clock_gettime"' ],
        [ 'server/cache/a.c',      "pthread_mutex_t m;\n",    '"pthread_mutex_t"' ],
        [ 'base/map.c',            "x = malloc (3);\n",       '"malloc \("' ],
        [ 'base/map.c',            "free(x);\n",              '"free\("' ],
        [ 'base/map.c',            "x = calloc(1, 3);\n",     '"calloc\("' ],
        [ 'base/map.c',            "x = realloc(x, 3);\n",    '"realloc\("' ],
        [ 'server/config.c',       "printf(\"x\");\n",        '"printf\("' ],
        [
            'server/config.c',
            "/* nng_aio, malloc(3) */\nsnprintf(a, 1, \"pthread_x free(\");\nhgi_free(&h, x); // dlopen\nstore->nng = 1;\n", undef
        ],
        [ 'loaders/sqlite/a.c',      "sqlite3_open(a, b);\nfree(x);\n", undef ],
        [ 'tests/base/a.c',          "nng_aio *a;\n",                   undef ],
        [ 'server/rpc/listener.c',   "nng_aio *a;\n",                   undef ],
        [ 'storage/snapshot/sqlite_row.c', "sqlite3_step(a);\n",        undef ],
    ],
    shape => [
        [ 'base/a.c', "int x;\n", 'a\.c:1: the licence line is missing' ],
        [ 'scripts/a', "#!/bin/sh\nset -eu\n", 'scripts/a:1: the licence line is missing' ],
        [ 'base/a.h', $licence . "#ifndef A\n", 'the comment that says what this header is for is missing' ],
        map({ my $lacks = $five; $lacks =~ s/ \* $_:.*?(?=\n \*|\*\/)/ */s; [ 'base/a.h', $lacks, "lacks a line \"$_:\"" ] }
            'Owns', 'Threads', 'Limits', 'Errors', 'Not here'),
        [ 'base/a.h', join("\n", (split /\n/, $five)[ 0, 1, 3, 2, 4, 5, 6 ]) . "\n", 'out of order' ],
        [ 'base/a.c', $licence . ("\n" x 600),                                  'a\.c:601: 601 lines; at most 600' ],
        [ 'base/a.c', $licence . "int f(void)\n{\n" . ("    g();\n" x 71) . "}\n", 'a\.c:3: a function of 71 lines' ],
        [ 'tests/base/a.c', $licence . "void f(void)\n{\n    exit (1);\n}\n",   'a\.c:4: a test does not call exit' ],
        [ 'base/a.h', $five,                                                    undef ],
        [ 'base/a.c', $licence . ("\n" x 599),                                  undef ],
        [ 'base/a.c', $licence . "int f(void)\n{\n" . ("    g();\n" x 70) . "}\n", undef ],
        [ 'tests/base/a.c', $licence . "/* exit(1) */\nint f(void)\n{\n    _exit(1);\n}\n", undef ],
    ],
    places => [
        [ 'docs/a.md', "see $w\n",                              'a\.md:1: .*a path of one machine' ],
        [ 'docs/a.md', "\n/" . "home/me/x\n",                   'a\.md:2: .*a path of one machine' ],
        [ 'docs/a.md', "from deb." . "debian.org\n",            'a package host' ],
        [ 'base/a.c',  "/* the last ses" . "sion */\n",         'no use for' ],
        [ 'base/a.c',  "/* re" . "search/x.md */\n",            'a folder that is not here' ],
        [ 'docs/a.md', "networks/work, obses" . "sion, /run/herdgate, a homework/\n", undef ],
    ],
    format => [
        [ 'base/a.c', "int f( void ) { return 1; }\n",           'a\.c:1:\d+: error: code should be clang-formatted' ],
        [ 'base/a.c', "int f(void)\n{\n    return 1;\n}\n",      undef ],
    ],
    alone => [
        [ 'base/a.h', "size_t f(void);\n",                       'base/a\.h:1: does not compile by itself' ],
        [ 'base/a.h', "#include <stddef.h>\nsize_t f(void);\n",  undef ],
        [ 'include/herdgate/a.h', "#define _POSIX_C_SOURCE 1\n#include <string.h>\nstatic inline char *f(const char *a)\n"
                . "{\n    return strdup(a);\n}\n",               'herdgate/a\.h:1: does not compile by itself' ],
    ],
    tidy => [
        [ 'base/a.c', "int f(int a);\nint f(int a)\n{\n    if (a)\n        a++;\n        a++;\n    return a;\n}\n", 'a\.c:6: misleading indentation' ],
        [ 'base/a.c', "char f(int a);\nchar f(int a)\n{\n    return a;\n}\n", 'a\.c:4: narrowing conversion' ],
        [ 'base/a.c', "int f(int a);\nint f(int a)\n{\n    return a;\n}\n", undef ],
    ],
    scripts => [
        [ 'scripts/a', $shell . "set -euo pipefail\nls \$1\n",   'SC2086' ],
        [ 'scripts/a', $shell . "ls\n",                          'does not say set -eu' ],
        [ 'scripts/a', $shell . "set -euo pipefail\nls\n",       undef ],
    ],
);

my ($lint, @arguments) = @ARGV;
die "usage: perl bite.pl LINT [ARGUMENT...]\n" unless defined $lint && $samples{$lint};
my $failed = 0;
for my $sample (@{ $samples{$lint} }) {
    my ($path, $text, $expected) = @$sample;
    my $root = tempdir(CLEANUP => 1);
    my ($folder) = $path =~ m{^(.*)/};
    make_path("$root/$folder");
    open(my $file, '>', "$root/$path") or die "$path: $!\n";
    print $file $text;
    close($file) or die "$path: $!\n";
    chmod(0755, "$root/$path") if $text =~ /\A#!/;
    open(my $said, '-|', "$^X '$FindBin::Bin/$lint.pl' '$root' @arguments 2>&1") or die "$lint: $!\n";
    my $output = do { local $/; <$said> };
    $output = '' unless defined $output;
    my $passed = close($said);
    my $good = defined $expected ? !$passed && $output =~ /$expected/ : $passed && $output eq '';
    if (!$good) {
        print "$lint on $path:\n$text\nexpected ", defined $expected ? $expected : 'nothing', ", said:\n$output\n";
        $failed = 1;
    }
}
exit($failed);
