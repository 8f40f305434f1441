# SPDX-License-Identifier: Apache-2.0
# words: one foreign word, one room (docs/ARCHITECTURE.md, Foreign words). Usage: perl words.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

# word => the only files that may say it. Tests, benchmarks, examples and the shipped plugins are free of it.
my @table = (
    [ qr/\bnng_\w*/,                           qr{^(server/rpc/(listener|conn)|client/conn)\w*\.[ch]$} ],
    [ qr/\bMHD_\w*/,                           qr{^server/http/listener(_\w+)?\.[ch]$} ],
    [ qr/\bmbedtls_\w*/,                       qr{^proto/tls/\w+\.[ch]$} ],
    [ qr/\bsqlite3_\w*/,                       qr{^storage/snapshot/sqlite\w*\.[ch]$} ],
    [ qr/\b(?:Herdgate|Grpc)__\w*/,            qr{^proto/(codec\w*|envelope|frame)\.[ch]$} ],
    [ qr/\b(?:newterm|initscr|endwin|getch|addch|addn?str|mvaddn?str|attron|curs_set)\s*\(/, qr{^client/cli/screen\.c$} ],
    [ qr/\bseccomp_\w*/,                       qr{^loaders/host/calls\.c$} ],
    [ qr/\b(?:SYS_)?landlock_\w*/i,            qr{^loaders/host/files\.c$} ],
    [ qr/\bdlopen\b/,                          qr{^base/plugin\.c$} ],
    [ qr/\bclock_gettime\b/,                   qr{^base/clock\.c$} ],
    [ qr/\bpthread_\w*/,                       qr{^base/(lock|thread)\.[ch]$} ],
    [ qr/\b(?:malloc|calloc|realloc|free)\s*\(/, qr{^base/alloc\.c$} ],
    [ qr/\bprintf\s*\(/,                       qr{^(client/cli/\w+|server/main|loaders/host/main)\.c$} ],
);

my ($root) = @ARGV or die "usage: perl words.pl ROOT\n";
for my $path (grep { /\.[ch]$/ } Lint::files($root)) {
    next if $path =~ m{^(tests|bench|client/examples)/} || $path =~ m{^loaders/(?!host/)};
    my $number = 0;
    for my $line (split /\n/, Lint::bare(Lint::text("$root/$path"))) {
        $number++;
        for my $row (@table) {
            my ($word, $rooms) = @$row;
            if ($line =~ /($word)/ && $path !~ $rooms) {
                Lint::fault($path, $number, "\"$1\" is a word of another room");
            }
        }
    }
}
Lint::finish();
