# SPDX-License-Identifier: Apache-2.0
# format: every C file is as clang-format leaves it. Usage: perl format.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

my ($root) = @ARGV or die "usage: perl format.pl ROOT\n";
chdir($root) or die "$root: $!\n";
my @files = grep { /\.[ch]$/ } Lint::files('.');
exit(0) unless @files;
exec('clang-format', "--style=file:$FindBin::Bin/../../.clang-format", '--dry-run', '-Werror', @files)
    or die "clang-format: $!\n";
