# SPDX-License-Identifier: Apache-2.0
# hunt: runs the suites on each mutant until one notices. Usage: perl hunt.pl ENGINE SUITE [ARGUMENT...] [+ SUITE ...]
# ENGINE is what mutate.pl wrote. Ends with 1 if a mutant lives or has no place in the code any more, or if a suite fails
# on the engine without a fault.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use File::Basename;
use Mutants;

my $suite_time_s = 30;    # whoever takes longer hangs, and so has noticed

my $engine = shift @ARGV;
my @suites = ([]);
for my $word (@ARGV) {
    if ($word eq '+') {
        push @suites, [];
    } else {
        push @{ $suites[-1] }, $word;
    }
}
die "usage: perl hunt.pl ENGINE SUITE [ARGUMENT...] [+ SUITE ...]\n" unless @{ $suites[0] };

$ENV{CK_FORK} = 'no';

# True: the suite failed, crashed or hung.
sub notices {
    my ($number, $suite) = @_;
    my $pid = fork;
    die "fork: $!\n" unless defined $pid;
    if (!$pid) {
        $ENV{HGI_MUTANT} = $number;
        open(STDOUT, '>', '/dev/null') or die "/dev/null: $!\n";
        open(STDERR, '>&', \*STDOUT)   or die "/dev/null: $!\n";
        alarm $suite_time_s;
        exec(@$suite) or die "$suite->[0]: $!\n";
    }
    waitpid $pid, 0;
    return $? != 0;
}

my @mutants = Mutants::list("$FindBin::Bin/mutants.txt");
my ($lives, $caught) = (0, 0);
open(my $in, '<', "$engine/lost.txt") or die "$engine/lost.txt: $!\n";
my @lost = <$in>;
die @lost, "hunt: these faults have no place in the engine any more; give them one, or others in their stead\n" if @lost;
for my $suite (@suites) {
    die "hunt: $suite->[0] fails on the engine without a fault\n" if notices(0, $suite);
}
for my $i (0 .. $#mutants) {
    my $mutant = $mutants[$i];
    my $catcher;
    for my $suite (@suites) {
        if (notices($i + 1, $suite)) {
            $catcher = $suite;
            last;
        }
    }
    if ($catcher) {
        $caught++;
        printf "%-36s %s\n", $mutant->{name}, basename($catcher->[0]);
    } else {
        $lives++;
        printf "%-36s LIVES: %s\n", $mutant->{name}, $mutant->{sentence};
    }
}
print "$caught caught, $lives alive\n";
exit($lives || !$caught ? 1 : 0);
