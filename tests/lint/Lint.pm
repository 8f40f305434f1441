# SPDX-License-Identifier: Apache-2.0
# Lint: what the lints share.
package Lint;
use strict;
use warnings;

my $faults = 0;

# The files of the project under ROOT, as paths from it: what git tracks or would track, or, where there is no
# repository, everything.
sub files {
    my ($root) = @_;
    my @files;
    if (-e "$root/.git") {
        open(my $git, '-|', 'git', '-c', 'safe.directory=*', '-C', $root, 'ls-files', '--cached', '--others',
            '--exclude-standard')
            or die "git: $!\n";
        chomp(@files = <$git>);
        close($git) or die "git ls-files failed\n";
    } else {
        @files = walk($root, '');
    }
    return sort grep { -f "$root/$_" && !-l "$root/$_" } @files;
}

sub walk {
    my ($root, $under) = @_;
    opendir(my $dir, "$root/$under") or die "$root/$under: $!\n";
    my @names = grep { $_ ne '.' && $_ ne '..' } readdir($dir);
    closedir($dir);
    return map { -d "$root/$under$_" ? walk($root, "$under$_/") : "$under$_" } @names;
}

sub text {
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!\n";
    local $/;
    my $text = <$file>;
    return defined $text ? $text : '';
}

# C text with comments and the insides of strings blanked, line ends kept.
sub bare {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')}{
        my $found = $1;
        my $blank = $found =~ /^["']/ ? '""' : ' ';
        $blank . ("\n" x ($found =~ tr/\n//));
    }gse;
    return $text;
}

sub fault {
    my ($path, $line, $sentence) = @_;
    print "$path:$line: $sentence\n";
    $faults++;
}

sub finish {
    exit($faults ? 1 : 0);
}

1;
