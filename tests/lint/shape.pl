# SPDX-License-Identifier: Apache-2.0
# shape: licence line, a header's five lines, lengths, no exit in tests. Usage: perl shape.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

my $file_max      = 600;
my $test_file_max = 800;
my $function_max  = 70;
my @five          = ('Owns', 'Threads', 'Limits', 'Errors', 'Not here');

sub check_header {
    my ($path, $text) = @_;
    # The second comment: the first is the licence line.
    my ($comment) = $text =~ m{\A/\*[^\n]*\n(/\*.*?\*/)}s;
    if (!defined $comment) {
        Lint::fault($path, 2, 'the comment that says what this header is for is missing');
        return;
    }
    my $at = 0;
    for my $word (@five) {
        my $found = $comment =~ /^ \* \Q$word\E: +\S/m ? $-[0] : -1;
        if ($found < $at) {
            Lint::fault($path, 2, "its comment lacks a line \"$word:\", or has it out of order");
            return;
        }
        $at = $found;
    }
}

sub check_functions {
    my ($path, $text) = @_;
    my ($number, $start) = (0, 0);
    for my $line (split /\n/, $text) {
        $number++;
        $start = $number if $line eq '{';
        next unless $line eq '}' && $start;
        if ($number - $start - 1 > $function_max) {
            Lint::fault($path, $start, 'a function of ' . ($number - $start - 1) . " lines; at most $function_max");
        }
        $start = 0;
    }
}

my ($root) = @ARGV or die "usage: perl shape.pl ROOT\n";
for my $path (Lint::files($root)) {
    next unless $path =~ /\.(c|h|def|proto|pl|pm|sh|cmake|js|ts)$/ || $path =~ m{^(scripts|\.ci)/};
    my $text = Lint::text("$root/$path");
    my ($first, $second) = split /\n/, $text;
    my $licence = defined $first && $first =~ /^#!/ ? $second : $first;
    if (!defined $licence || $licence !~ /SPDX-License-Identifier: Apache-2\.0/) {
        Lint::fault($path, 1, 'the licence line is missing: SPDX-License-Identifier: Apache-2.0');
    }
    next unless $path =~ /\.[ch]$/;
    my $is_test = $path =~ m{^(tests|bench)/};
    my $max     = $is_test ? $test_file_max : $file_max;
    my $lines   = ($text =~ tr/\n//);
    Lint::fault($path, $lines, "$lines lines; at most $max") if $lines > $max;
    check_functions($path, $text) unless $is_test;
    check_header($path, $text) if $path =~ /\.h$/;
    if ($path =~ m{^tests/.*\.c$}) {
        my $number = 0;
        for my $line (split /\n/, Lint::bare($text)) {
            $number++;
            # It runs the parent's clean-up in the fork; a test returns, asserts, or calls _exit.
            Lint::fault($path, $number, 'a test does not call exit()') if $line =~ /\bexit\s*\(/;
        }
    }
}
Lint::finish();
