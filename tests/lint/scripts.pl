# SPDX-License-Identifier: Apache-2.0
# scripts: every shell script passes shellcheck, stops at the first fault and can be run. Usage: perl scripts.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

my ($root) = @ARGV or die "usage: perl scripts.pl ROOT\n";
my @scripts;
for my $path (Lint::files($root)) {
    next if -B "$root/$path";
    my $text = Lint::text("$root/$path");
    next unless $text =~ m{\A#!.*\b(?:ba)?sh\b};
    push @scripts, "$root/$path";
    Lint::fault($path, 1, 'cannot be run: chmod +x') unless -x "$root/$path";
    Lint::fault($path, 1, 'does not say set -eu') unless $text =~ /^set -eu/m;
}
if (@scripts && system('shellcheck', @scripts) != 0) {
    Lint::fault('shellcheck', 0, 'found faults, above');
}
Lint::finish();
