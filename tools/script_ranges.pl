#!/usr/bin/env perl
# usage: tools/script_ranges.pl > src/text/subword/script_ranges.inc
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
print "/* Made by tools/script_ranges.pl: first, how many, script; Common (0) is left out, 1 is\n",
      " * Inherited, Hiragana and Katakana are Han. */\n";
my $line = '';
for my $range (@ranges) {
    my ($first, $last, $name) = @$range;
    my $item = sprintf '{0x%X, %d, %d}, ', $first, $last - $first + 1, $number{$name};
    if (length($line) + length($item) > 141) {
        print $line =~ s/ $//r, "\n";
        $line = '';
    }
    $line .= $item;
}
print $line =~ s/ $//r, "\n";
