# SPDX-License-Identifier: Apache-2.0
# mutate: writes the engine with every fault in it, each behind its number. Usage: perl mutate.pl ROOT OUT FILE...
# FILEs are relative to ROOT; headers beside them are copied as they are. A fault whose place is not found, or found
# twice, proves nothing: it is left out here and named in OUT/lost.txt, for hunt.pl to fail on, so that whoever changes
# the engine can still build.
use strict;
use warnings;
use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use FindBin;
use lib $FindBin::Bin;
use Mutants;

my ($root, $out, @files) = @ARGV;
die "usage: perl mutate.pl ROOT OUT FILE...\n" unless @files;
my @mutants = Mutants::list("$FindBin::Bin/mutants.txt");
my %known   = map { $_ => 1 } @files;
my @lost;

sub lose {
    my ($mutant, $why) = @_;
    push @lost, "mutants.txt:$mutant->{line}: $mutant->{name}: $why\n";
    return;
}

# Where its piece is in the text; undef: nowhere that is sure.
sub place_of {
    my ($mutant, $text) = @_;
    $$text =~ /^(?!static [^\n]*;)\w[^;{}]*\b\Q$mutant->{function}\E\([^;{}]*\)[^;{}]*\n\{\n(.*?)^\}/ms
        or return lose($mutant, "$mutant->{file} has no function $mutant->{function}");
    my ($start, $body) = ($-[1], $1);
    my $at = index($body, $mutant->{original});
    return lose($mutant, "\"$mutant->{original}\" is not in $mutant->{function}") if $at < 0;
    return lose($mutant, "\"$mutant->{original}\" is in $mutant->{function} twice")
        if index($body, $mutant->{original}, $at + 1) >= 0;
    return $start + $at;
}

sub faulty {
    my ($number, $mutant) = @_;
    my ($old, $new) = ($mutant->{original}, $mutant->{faulty});
    # An expression that ends a declaration or an assignment keeps its semicolon outside.
    return "if (hgi_mutant == $number) { $new } else { $old }" if $old =~ /;$/ && $old =~ /^[^;]*(?:=|\(|^return)/;
    my $tail = $old =~ s/;$// ? ';' : '';
    $new =~ s/;$//;
    return "(hgi_mutant == $number ? ($new) : ($old))$tail";
}

for my $file (@files) {
    open(my $in, '<', "$root/$file") or die "$root/$file: $!\n";
    my $text = do { local $/; <$in> };
    my @edits;
    for my $i (0 .. $#mutants) {
        next unless $mutants[$i]{file} eq $file;
        my $at = place_of($mutants[$i], \$text);
        push @edits, [ $at, $i ] if defined $at;
    }
    my $last = length $text;
    for my $edit (sort { $b->[0] <=> $a->[0] } @edits) {
        my ($at, $i) = @$edit;
        my $mutant = $mutants[$i];
        if ($at + length($mutant->{original}) > $last) {
            lose($mutant, 'lies over another mutant');
            next;
        }
        substr($text, $at, length $mutant->{original}) = faulty($i + 1, $mutant);
        $last = $at;
    }
    make_path(dirname("$out/$file"));
    copy($_, dirname("$out/$file")) or die "$_: $!\n" for glob(dirname("$root/$file") . '/*.h');
    open(my $to, '>', "$out/$file") or die "$out/$file: $!\n";
    print $to "extern int hgi_mutant;\n#line 1 \"$root/$file\"\n$text";
    close($to) or die "$out/$file: $!\n";
}
for my $mutant (@mutants) {
    lose($mutant, "$mutant->{file} is no source of the engine") unless $known{ $mutant->{file} };
}
open(my $to, '>', "$out/lost.txt") or die "$out/lost.txt: $!\n";
print $to @lost;
close($to) or die "$out/lost.txt: $!\n";
