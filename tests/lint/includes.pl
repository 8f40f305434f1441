# SPDX-License-Identifier: Apache-2.0
# includes: who may include whom (docs/ARCHITECTURE.md, Rooms). Usage: perl includes.pl ROOT
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Lint;

# room => the rooms it may look into besides itself. The longest name that fits a path is its room.
my %may = (
    'include'          => [],
    'base'             => ['include'],
    'proto'            => ['base', 'include'],
    'proto/tls'        => [ 'base', 'include' ],
    'storage'          => ['base', 'include'],
    'storage/flat'     => ['base', 'include'],
    'storage/table'    => ['storage/flat', 'base', 'include'],
    'storage/local'    => ['storage/table', 'storage/flat', 'base', 'include'],
    'storage/snapshot' => ['storage/table', 'storage/flat', 'base', 'include'],
    'server'           => [
        'server/access', 'server/cache', 'server/loader', 'server/rpc', 'server/http', 'storage', 'storage/table', 'storage/flat', 'storage/local',
        'storage/snapshot', 'proto', 'base',
        'include'
    ],
    'server/access' => ['proto', 'base', 'include'],
    'server/cache'  => ['storage/table', 'storage/flat', 'base', 'include'],
    'server/loader' => ['server',        'server/cache', 'storage/table', 'proto', 'base', 'include'],
    'server/rpc'    => [
        'server', 'server/access', 'server/cache', 'server/loader', 'storage/table', 'storage/snapshot', 'proto',
        'proto/tls', 'base', 'include'
    ],
    'server/http' => [
        'server', 'server/access', 'server/cache', 'server/loader', 'server/rpc', 'proto', 'proto/tls', 'base', 'include'
    ],
    'client'           => ['loaders/contract', 'storage/flat', 'proto', 'proto/tls', 'base', 'include'],
    'client/cli'       => ['client', 'proto', 'base', 'include'],
    'client/examples'  => ['include'],
    'loaders/contract' => ['proto', 'base', 'include'],
    'loaders/host'     => ['loaders/contract', 'proto', 'base', 'include'],
    'loaders/kit'      => ['include'],
    map { ("loaders/$_" => [ 'loaders/kit', 'include' ]) } qw(http postgres sqlite),
);

sub room_of {
    my ($path) = @_;
    return 'include' if $path =~ m{^(include/)?herdgate/};
    my @names = sort { length $b <=> length $a } grep { index($path, "$_/") == 0 } keys %may;
    return $names[0] if @names;
    return $1 if $path =~ m{^(loaders/[^/]+)/};
    return undef;
}

my ($root) = @ARGV or die "usage: perl includes.pl ROOT\n";
for my $path (grep { /\.[ch]$/ && !m{^tests/} && !m{^bench/} } Lint::files($root)) {
    my $room = room_of($path);
    next unless defined $room;
    my ($folder) = $path =~ m{^(.*)/};
    my $number = 0;
    for my $line (split /\n/, Lint::text("$root/$path")) {
        $number++;
        next unless $line =~ m{^\s*#\s*include\s*"([^"]+)"};
        my $wanted = $1;
        next if $wanted =~ /\.pb-c\.h$/ && $room eq 'proto';
        $wanted = "$folder/$wanted" unless $wanted =~ m{/};
        my $other = room_of($wanted);
        if (!defined $other) {
            Lint::fault($path, $number, "\"$1\" is in no room of the project");
        } elsif ($other ne $room && !grep { $_ eq $other } @{ $may{$room} || ['include'] }) {
            Lint::fault($path, $number, "$room may not look into $other");
        }
    }
}
Lint::finish();
