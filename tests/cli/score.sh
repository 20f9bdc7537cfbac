# BLEU of files, as sacreBLEU prints it; mistakes are named by file and line.
printf 'the cat sat on the mat\nhello world\n' >ref
printf 'the cat sat on a mat\n\n' >hyp
signature='nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0'
details='83.3/60.0/50.0/33.3 (BP = 0.717 ratio = 0.750 hyp_len = 6 ref_len = 8)'

expect 0 "$FERRY" score ref hyp
out_is "BLEU|$signature = 38.50 $details"
[ ! -s .err ] || fail "a score has nothing to say on stderr"
given "$(cat hyp)"$'\n\n'
expect 0 "$FERRY" score ref
out_is "BLEU|$signature = 38.50 $details"
given "$(cat ref)"$'\n'
expect 0 "$FERRY" score - hyp --score-only width=1
out_is 38.5

expect 0 "$FERRY" score ref hyp --json width=1
out_is "{
 \"name\": \"BLEU\",
 \"score\": 38.5,
 \"signature\": \"$signature\",
 \"verbose_score\": \"$details\",
 \"nrefs\": \"1\",
 \"case\": \"mixed\",
 \"eff\": \"no\",
 \"tok\": \"13a\",
 \"smooth\": \"exp\",
 \"version\": \"2.6.0\"
}"

expect 0 "$FERRY" score ref hyp metric=chrf
out_is 'chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 46.26'
expect 0 "$FERRY" score ref hyp metric=chrf++ --sentence
out_has 'chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = '
[ "$(wc -l <.out)" -eq 2 ] || fail "want a line for each line"
expect 0 "$FERRY" score ref hyp --sentence
[ "$(wc -l <.out)" -eq 2 ] || fail "want a line for each line"
out_has 'eff:yes|tok:13a|smooth:exp|version:2.6.0 = 53.73 83.3/60.0/50.0/33.3'
expect 0 "$FERRY" score ref hyp hyp tokenize=none smooth=floor smooth_value=0.25
out_has 'nrefs:2|case:mixed|eff:no|tok:none|smooth:floor[0.25]'
out_has '100.0/100.0/100.0/100.0'
expect 0 "$FERRY" score <(cat ref) hyp
out_has '= 38.50 '
gzip -c ref >ref.gz
{ printf '\xff\xfe'; iconv -f UTF-8 -t UTF-16LE hyp; } >hyp.utf16
expect 0 "$FERRY" score ref.gz hyp.utf16
out_has '= 38.50 '

refuses 2 "give a file of references" "$FERRY" score
refuses 2 "only one file can be standard input" "$FERRY" score - -
refuses 2 "tokenize = 13b: want one of 13a|none" "$FERRY" score ref hyp tokenize=13b
refuses 3 "absent: No such file" "$FERRY" score ref absent
refuses 3 "not a regular file" "$FERRY" score . hyp
printf '' >empty
refuses 4 "empty has no lines" "$FERRY" score ref empty
printf 'one\n' >short
refuses 4 "short has 1 line but ref has more" "$FERRY" score ref short
refuses 4 "short has 1 line but ref has more" "$FERRY" score short ref
refuses 4 "short has 1 line but /dev/fd" "$FERRY" score short <(yes || true)
printf 'fine\nb\xffd\n' >bad
refuses 4 "bad: line 2 is not UTF-8" "$FERRY" score ref bad
if [ -w /dev/full ]; then
    got=0
    "$FERRY" score ref hyp >/dev/full 2>.err || got=$?
    [ "$got" -eq 3 ] || fail "status $got on a full disk, want 3"
    err_has "standard output"
fi

# Input that is endless or no text ends soon, in memory that does not depend on it.
refuses 4 "/dev/zero is not text" "$FERRY" score ref /dev/zero
refuses 4 "line 2 is longer than 1048576 bytes" "$FERRY" score ref <(echo; yes | tr -d '\n' || true)
printf '%%PDF-1.7\n' >a.pdf
refuses 4 "a.pdf is a PDF document" "$FERRY" score ref a.pdf
long=$(printf '%010000d' 0)
for _ in {1..2000}; do echo "the cat sat on the $long"; done >many
expect 0 limited 50000 "$FERRY" score many many many tokenize=none --score-only
out_is 100.00
