# SPDX-License-Identifier: Apache-2.0
# alone: every header compiles by itself. Usage: perl alone.pl ROOT COMPILER [-I...]
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

my ($root, $compiler, @flags) = @ARGV;
die "usage: perl alone.pl ROOT COMPILER [-I...]\n" unless defined $compiler;
push @flags, "-I$root", "-I$root/include", "-I$root/tests/lib";
for my $path (grep { /\.h$/ } Lint::files($root)) {
    # The public ones must not lean on the extensions that the rest is built with.
    my @extra = $path =~ m{^include/} ? () : ('-D_GNU_SOURCE');
    my ($folder) = $path =~ m{^(.*)/};
    open(my $run, '-|', $compiler, '-std=c11', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-x', 'c', @extra, @flags,
        "-I$root/$folder", '-include', "$root/$path", '/dev/null')
        or die "$compiler: $!\n";
    my @said = <$run>;
    close($run) or Lint::fault($path, 1, 'does not compile by itself');
}
Lint::finish();
