# SPDX-License-Identifier: Apache-2.0
# places: nothing tracked names one machine, one package host or how it came to be. Usage: perl places.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

# Written in pieces, so that this file does not name them either.
my @table = (
    [ qr{(?<![\w.])/(?:wo)rk/},                                  'a path of one machine' ],
    [ qr{(?<![\w.])/(?:ho)me/\w},                                'a path of one machine' ],
    [ qr{(?<![\w.])/(?:ro)ot/},                                  'a path of one machine' ],
    [ qr{\b(?:deb|security)\.(?:deb)ian\.org|\b(?:re)gistry\.[\w-]+\.(?:org|com|io)\b|\b(?:pyp)i\.org|\b(?:cra)tes\.io\b}, 'a package host' ],
    [ qr{\b(?:ses)sions?\b}i,                                    'a word this project has no use for' ],
    [ qr{(?<![\w./])(?:re)search/\w},                            'a folder that is not here' ],
);

my ($root) = @ARGV or die "usage: perl places.pl ROOT\n";
for my $path (Lint::files($root)) {
    next if $path eq 'LICENSE' || -B "$root/$path";
    my $number = 0;
    for my $line (split /\n/, Lint::text("$root/$path")) {
        $number++;
        for my $row (@table) {
            Lint::fault($path, $number, "\"$&\": $row->[1]") if $line =~ $row->[0];
        }
    }
}
Lint::finish();
