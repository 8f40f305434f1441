# SPDX-License-Identifier: Apache-2.0
# Mutants: reads mutants.txt.
package Mutants;
use strict;
use warnings;

# The mutants in their order, each {name, file, function, sentence, original, faulty, line}; the first is number 1.
sub list {
    my ($path) = @_;
    my (@mutants, $mutant);
    open(my $in, '<', $path) or die "$path: $!\n";
    while (my $line = <$in>) {
        chomp $line;
        next if $line =~ /^#|^\s*$/;
        if ($line =~ /^(\w+)  (\S+)  (\w+)$/) {
            $mutant = { name => $1, file => $2, function => $3, line => $. };
            push @mutants, $mutant;
        } elsif ($mutant && $line =~ /^    (\S.*)$/) {
            $mutant->{sentence} = $1;
        } elsif ($mutant && $line =~ /^  ([-+]) (.+)$/) {
            $mutant->{ $1 eq '-' ? 'original' : 'faulty' } = $2;
        } else {
            die "$path:$.: not a line of a mutant: $line\n";
        }
    }
    for (@mutants) {
        next if defined $_->{sentence} && defined $_->{original} && defined $_->{faulty};
        die "$path:$_->{line}: $_->{name} needs a sentence, a line \"- ...\" and a line \"+ ...\"\n";
    }
    return @mutants;
}

1;
