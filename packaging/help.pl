# SPDX-License-Identifier: Apache-2.0
# help: fills a page of the manual or a shell's completion with what the programs themselves say of their verbs and
# options, so that a new one is in both without anybody thinking of it.
# Usage: perl help.pl TEMPLATE PROGRAM VERSION    (PROGRAM: a path; what it says on --help is read)
use strict;
use warnings;

# ---- what the program says ----

# One line of text an option, nothing about mandatory arguments.
$ENV{ARGP_HELP_FMT} = 'rmargin=9999,opt-doc-col=60,no-dup-args-note';

sub said {
    my @command = @_;
    open(my $out, '-|', @command) or die "$command[0]: $!\n";
    my @lines = <$out>;
    close($out) or die "@command ended with $?\n";
    chomp(@lines);
    return @lines;
}

# What an option takes: a text that ends with "a, b (if not said) or c", or is "a or b", has the words to choose from.
# What follows a semicolon is another matter.
sub choices {
    my ($text) = @_;
    my $word = qr/[a-z_][a-z_0-9]*/;
    $text =~ s/ ?\([^)]*\)|;.*//g;
    return [ split /, | or /, $1 ] if $text =~ /(?:^| )($word(?:, $word)+,? or $word)$/ || $text =~ /^($word or $word)$/;
    return undef;
}

# {usage, about, groups => [{title, options => [{short, long, arg, text, choices}]}], after}
sub parse_help {
    my %help = (usage => [], about => '', groups => [], after => '');
    my $group;
    for my $line (@_) {
        if ($line =~ /^(?:Usage:|  or: ) (.*?)\s*$/) {
            push @{ $help{usage} }, $1;
        } elsif ($line =~ /^ {2,}(?:-(\S), |    )--([a-z-]+)(?:=(\S+))?(?: +(.*?))?\s*$/) {
            my $option = { short => $1, long => $2, arg => $3, text => $4 // '' };
            $option->{choices} = choices($option->{text}) if $option->{arg};
            push @{ $help{groups} }, $group = { title => '', options => [] } if !$group;
            push @{ $group->{options} }, $option;
        } elsif ($line =~ /^ (\S.*):\s*$/) {
            push @{ $help{groups} }, $group = { title => $1, options => [] };
        } elsif ($line =~ /^\s*$/) {
            undef $group;
        } elsif (@{ $help{groups} }) {
            $help{after} .= "$line\n";
        } else {
            $help{about} .= "$line\n";
        }
    }
    die "found no option in the help text\n" if !@{ $help{groups} };
    return \%help;
}

sub options_of {
    my ($help) = @_;
    return map { @{ $_->{options} } } @{ $help->{groups} };
}

my ($template, $path, $version) = @ARGV;
die "usage: perl help.pl TEMPLATE PROGRAM VERSION\n" if @ARGV != 3;
my ($program) = $path =~ m{([^/]+)$};
my @main  = said($path, '--help');
my @verbs = map { /^  ([a-z]+) {2,}(\S.*)$/ ? { name => $1, what => $2 } : () } @main;
my $main  = parse_help(grep { !/^  [a-z]+ {2,}\S/ && !/^Verbs:/ } @main);
my %is_common = map { $_->{long} => 1 } options_of($main);

# The verbs' own options, and the groups that several verbs have.
my %verbs_with;
for my $verb (@verbs) {
    my $help = $verb->{help} = parse_help(said($path, $verb->{name}, '--help'));
    for my $group (@{ $help->{groups} }) {
        $group->{options} = [ grep { !$is_common{ $_->{long} } } @{ $group->{options} } ];
    }
    $help->{groups} = [ grep { @{ $_->{options} } } @{ $help->{groups} } ];
    $verbs_with{ $_->{title} }++ for @{ $help->{groups} };
}
my @shared;

# ---- the manual: scdoc ----

sub escaped {
    my ($text) = @_;
    $text =~ s/([\\*_#<>\[\]~`|]|^-)/\\$1/gm;
    return $text;
}

sub manual_option {
    my ($option) = @_;
    my $head = "*--$option->{long}*" . ($option->{arg} ? "=_" . escaped($option->{arg}) . "_" : '');
    $head = "*-$option->{short}*, $head" if $option->{short};
    return "$head\n\t" . escaped($option->{text}) . ".\n\n";
}

sub manual_usage {
    my ($usage) = @_;
    my ($words, $rest) = $usage =~ /^((?:[a-z]+ ?)+)(.*)$/;
    $words =~ s/ $//;
    $rest  =~ s/\[OPTION\.\.\.\]/[OPTION...]/;
    return "*$words* " . escaped($rest);
}

sub manual_verbs {
    my $text = '';
    my %has_shown;
    for my $verb (@verbs) {
        my $help = $verb->{help};
        $text .= "## $verb->{name}\n\n" . join("++\n", map { manual_usage($_) } @{ $help->{usage} }) . "\n\n";
        $text .= escaped($help->{about}) . "\n";
        for my $group (@{ $help->{groups} }) {
            my $title = $group->{title};
            if ($title && $verbs_with{$title} > 1) {
                push @shared, $group if !$has_shown{$title}++;
                next;
            }
            $text .= escaped($title) . ":\n\n" if $title;
            $text .= manual_option($_) for @{ $group->{options} };
        }
        $text .= escaped($help->{after}) . "\n" if $help->{after};
    }
    return $text;
}

sub manual_shared {
    return join '', map {
        escaped($_->{title}) . ":\n\n" . join('', map { manual_option($_) } @{ $_->{options} })
    } @shared;
}

sub manual_exits {
    my ($exits) = $main->{after} =~ /Exit status: (.*)\./ or die "$program --help does not tell its exit codes\n";
    return join '', map { /^(\d+) (.*)$/ ? "*$1*\n\t" . ucfirst($2) . ".\n\n" : die "\"$_\" is no exit code\n" } split /; /, $exits;
}

# From the tables that herdgated --help-options prints.
sub manual_configuration {
    my $text = '';
    for my $line (said($path, '--help-options')) {
        if ($line =~ /^## (\S+)$/) {
            $text .= "## $1\n\n";
        } elsif ($text && $line =~ /^\w/) { # of the section as a whole
            $line =~ s/`//g;
            $text .= escaped($line) . "\n\n";
        } elsif ($line =~ /^\| `/) {
            my @cells = $line =~ /^\| `(\S+)` \| (.*?) \| (.*?) \| (.*?) \|$/ or die "cannot read: $line\n";
            s/`//g, s/\*\*//g for @cells;
            my ($name, $form, $default, $help) = map { escaped($_) } @cells;
            $text .= "*$name* = _${form}_\n\t" . $help . ".\n\tDefault: $default.\n\n";
        }
    }
    return $text;
}

# ---- completion ----

# What to offer for an argument: a list of words, or one of the ways to find them.
sub offer {
    my ($option) = @_;
    return join ' ', @{ $option->{choices} } if $option->{choices};
    return '@files' if $option->{arg} eq 'FILE';
    return '@caches' if $option->{arg} eq 'CACHE';
    return '@loaders' if $option->{long} eq 'reload';
    return '';
}

# What a verb's first argument is: its sub-verbs, or a cache.
sub first_argument {
    my ($verb) = @_;
    my @rests = map { /^\S+ \S+ (?:\[OPTION\.\.\.\] ?)?\[?(\S*?)\]?(?: |$)/ ? $1 : '' } @{ $verb->{help}{usage} };
    my @words = grep { /^[a-z]+$/ } @rests;
    return join ' ', @words if @words;
    return (grep { $_ eq 'CACHE' } @rests) ? '@caches' : '';
}

# The program's own options are those of the verb "".
sub calls {
    return ({ name => '', options => [ options_of($main) ] },
        map { { name => $_->{name}, options => [ options_of($_->{help}) ], first => first_argument($_) } } @verbs);
}

sub spellings {
    my ($option) = @_;
    return ("--$option->{long}", $option->{short} && $option->{short} ne '?' ? "-$option->{short}" : ());
}

sub bash_options {
    return join '', map {
        my $call = $_;
        "        [x$call->{name}]=\"" . join(' ', map { spellings($_) } @{ $call->{options} }) . "\"\n"
    } calls();
}

sub bash_values {
    my $text = '';
    for my $call (calls()) {
        for my $option (grep { $_->{arg} } @{ $call->{options} }) {
            $text .= "        [\"$call->{name} $_\"]=\"" . offer($option) . "\"\n" for spellings($option);
        }
    }
    return $text;
}

sub bash_arguments {
    return join '', map { "        [$_->{name}]=\"$_->{first}\"\n" } grep { $_->{first} } calls();
}

sub zsh_quoted {
    my ($text, $special) = @_;
    $text =~ s/([\\$special])/\\$1/g;
    $text =~ s/'/'\\''/g;
    return $text;
}

sub zsh_way {
    my ($offer) = @_;
    return $offer =~ /^\@(\w+)$/ ? ($1 eq 'files' ? '_files' : "_herdgate_$1") : $offer ? "($offer)" : ' ';
}

sub zsh_option {
    my ($option) = @_;
    my $text = '[' . zsh_quoted($option->{text}, '\[\]:') . ']';
    my $takes = $option->{arg} ? ":$option->{arg}:" . zsh_way(offer($option)) : '';
    my @specs = "'--$option->{long}" . ($option->{arg} ? '=' : '') . "$text$takes'";
    push @specs, "'-$option->{short}" . ($option->{arg} ? '+' : '') . "$text$takes'" if $option->{short} && $option->{short} ne '?';
    return @specs;
}

sub zsh_verbs {
    return join '', map { "        '$_->{name}:" . zsh_quoted($_->{what}, ':') . "'\n" } @verbs;
}

sub zsh_common {
    return join '', map { "        $_\n" } map { zsh_option($_) } options_of($main);
}

sub zsh_calls {
    my $text = '';
    for my $verb (@verbs) {
        my $first = first_argument($verb);
        my @specs = ((map { zsh_option($_) } options_of($verb->{help})), $first ? "'1:what:" . zsh_way($first) . "'" : ());
        $text .= "        $verb->{name})\n            specs=(" . join("\n                ", @specs) . ")\n            ;;\n";
    }
    return $text;
}

sub fish_option {
    my ($option, $condition) = @_;
    my $offer = $option->{arg} ? offer($option) : '';
    my $text  = $option->{text};
    $text =~ s/([\\'])/\\$1/g;
    my $line = "complete -c $program$condition -l $option->{long}";
    $line .= " -s $option->{short}" if $option->{short} && $option->{short} ne '?';
    $line .= $offer eq '@files' ? ' -r -F' : ' -x' if $option->{arg};
    $line .= $offer =~ /^\@(caches|loaders)$/ ? " -a '(__herdgate_$1)'" : " -a '$offer'" if $offer && $offer ne '@files';
    return "$line -d '$text'\n";
}

sub fish_calls {
    my $text = join '', map { fish_option($_, '') } options_of($main);
    for my $verb (@verbs) {
        (my $what = $verb->{what}) =~ s/([\\'])/\\$1/g;
        my $in    = " -n '__fish_seen_subcommand_from $verb->{name}'";
        my $first = first_argument($verb);
        $text .= "complete -c $program -n __fish_use_subcommand -a $verb->{name} -d '$what'\n";
        $text .= "complete -c $program$in -a '" . ($first eq '@caches' ? '(__herdgate_caches)' : $first) . "'\n" if $first;
        $text .= fish_option($_, $in) for options_of($verb->{help});
    }
    return $text;
}

# ---- the template ----

my %fill = (
    VERSION        => sub { $version },
    PROGRAM        => sub { $program },
    OPTIONS        => sub { join '', map { manual_option($_) } options_of($main) },
    VERBS          => \&manual_verbs,
    SHARED         => \&manual_shared,
    EXITS          => \&manual_exits,
    CONFIGURATION  => \&manual_configuration,
    VERB_NAMES     => sub { join ' ', map { $_->{name} } @verbs },
    BASH_OPTIONS   => \&bash_options,
    BASH_VALUES    => \&bash_values,
    BASH_ARGUMENTS => \&bash_arguments,
    ZSH_VERBS      => \&zsh_verbs,
    ZSH_COMMON     => \&zsh_common,
    ZSH_CALLS      => \&zsh_calls,
    FISH_CALLS     => \&fish_calls,
);
open(my $in, '<', $template) or die "$template: $!\n";
while (my $line = <$in>) {
    # A name alone on its line is filled in with whole lines.
    $line =~ s{^ *\@([A-Z_]+)\@\n|\@([A-Z_]+)\@}{
        my $name = $1 // $2;
        my $with = $fill{$name} or die "$template: there is nothing to fill in for \@$name\@\n";
        my $text = $with->();
        $1 && $text !~ /\n\z/ ? "$text\n" : $text
    }ge;
    print $line;
}
