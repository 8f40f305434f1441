# SPDX-License-Identifier: Apache-2.0
# tidy: what .clang-tidy asks for. Usage: perl tidy.pl ROOT CLANG_TIDY BUILD   (BUILD has compile_commands.json)
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

my ($root, $tidy, $build) = @ARGV;
die "usage: perl tidy.pl ROOT CLANG_TIDY BUILD\n" unless defined $build;
my @files = map { "$root/$_" } grep { m{^(base|proto|storage|server|client|loaders)/.*\.c$} } Lint::files($root);
open(my $run, '-|', "'$tidy' -p '$build' --quiet --config-file='$FindBin::Bin/../../.clang-tidy' "
        . join(' ', map { "'$_'" } @files) . ' 2>&1')
    or die "$tidy: $!\n";
while (my $line = <$run>) {
    if ($line =~ m{^\Q$root\E/([^:]+):(\d+):\d+: (?:warning|error): (.*)}) {
        Lint::fault($1, $2, $3);
    } elsif ($line =~ /error: /) {
        Lint::fault($tidy, 0, $line);
    }
}
close($run);
Lint::finish();
