#!/usr/bin/env perl
# usage: tools/script_ranges.pl > src/text/subword/script_ranges.h
#
# The scripts of Unicode 9, which SentencePiece's trainer goes by, out of Perl's own tables:
# what was assigned later is Common to it. Three scripts that Unicode changed since are set
# back; Hiragana and Katakana count as Han.
use strict;
use warnings;
use Unicode::UCD qw(prop_invmap search_invlist);

my %set_back = (0x589 => 'Common', 0x61C => 'Common', 0x953 => 'Devanagari',
                0x954 => 'Devanagari', 0x30FC => 'Han');
my %same = (Hiragana => 'Han', Katakana => 'Han', Unknown => 'Common');
my ($script_at, $script) = prop_invmap('Script');
my ($age_at, $age) = prop_invmap('Age');

sub script_of {
    my ($code) = @_;
    return $set_back{$code} if $set_back{$code};
    my $since = $age->[search_invlist($age_at, $code)];
    return 'Common' if $since eq 'Unassigned' || $since > 9.0;
    my $name = $script->[search_invlist($script_at, $code)];
    return $same{$name} // $name;
}

my %number = (Inherited => 1);
my @ranges;
for my $code (0 .. 0x10FFFF) {
    my $name = script_of($code);
    next if $name eq 'Common';
    if (@ranges && $ranges[-1][1] == $code - 1 && $ranges[-1][2] eq $name) {
        $ranges[-1][1] = $code;
    } else {
        push @ranges, [$code, $code, $name];
    }
    $number{$name} = 1 + keys %number unless $number{$name};
}
print "/* Made by tools/script_ranges.pl: first, last, script; Common (0) is left out, 1 is\n",
      " * Inherited, Hiragana and Katakana are Han. */\n#pragma once\n\n";
print "/* clang-format off */\n#define SCRIPT_RANGES(R) \\\n";
my $line = '   ';
for my $i (0 .. $#ranges) {
    my $item = sprintf ' R(0x%X, 0x%X, %d)', @{$ranges[$i]}[0, 1], $number{$ranges[$i][2]};
    if (length($line) + length($item) > 130) {
        print "$line \\\n";
        $line = '   ';
    }
    $line .= $item;
}
print "$line\n/* clang-format on */\n";
