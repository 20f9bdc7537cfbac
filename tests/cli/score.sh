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
for metric in 'bleu #:1|c:mixed|e:no|tok:13a|s:exp|v:2.6.0' 'chrf #:1|c:mixed|e:yes|nc:6|nw:0|s:no|v:2.6.0' \
    'ter #:1|c:lc|t:tercom|nr:no|pn:yes|as:no|v:2.6.0'; do
    expect 0 "$FERRY" score ref hyp metric="${metric%% *}" --short-signature
    out_has "|${metric#* } = "
done
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
refuses 2 "tokenize = 13b: want one of 13a|none|intl|char|zh" "$FERRY" score ref hyp tokenize=13b
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

# Tokenizers, small letters, TER.
printf 'Die Katze, sagt man: «sie sitzt»!\n東京は、雨だ。\n' >ref.de
printf 'die Katze, sagt Man, «sitzt sie»!\n東京は、雪だ。\n' >hyp.de
expect 0 "$FERRY" score ref.de hyp.de tokenize=intl --lowercase
out_is 'BLEU|nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:2.6.0 = 39.46 86.7/46.2/27.3/22.2 (BP = 1.000 ratio = 1.000 hyp_len = 15 ref_len = 15)'
expect 0 "$FERRY" score ref.de hyp.de tokenize=char --score-only
out_is 61.83
expect 0 "$FERRY" score ref.de hyp.de tokenize=zh
out_has '|tok:zh|'
expect 0 "$FERRY" score ref.de hyp.de metric=chrf --lowercase
out_has 'chrF2|nrefs:1|case:lc|'
expect 0 "$FERRY" score ref.de hyp.de metric=ter
out_is 'TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 57.14'
expect 0 "$FERRY" score ref.de hyp.de metric=ter --ter-normalized --ter-no-punct --ter-asian-support --ter-case-sensitive
out_has 'case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|version:2.6.0 = '
for rule in ja-mecab ko-mecab flores200 spm; do
    refuses 2 "tokenize = $rule needs a model or a dictionary that Ferry does not have" "$FERRY" score ref hyp "tokenize=$rule"
done

# Samples: an interval, and tests against other systems.
for i in {1..40}; do
    echo "line $i of a text about cats and dogs and the river"
done >long.ref
sed 's/cats/cat/; s/3/4/' long.ref >long.a
sed 's/dogs and/birds or/; s/1/2/' long.ref >long.b
expect 0 "$FERRY" score long.ref long.a --confidence trials=200
out_has 'BLEU|nrefs:1|bs:200|seed:12345|case:mixed|'
out_has '(μ = '
expect 0 "$FERRY" score long.ref long.a --confidence --json seed=3
out_has '"confidence": "μ = '
out_has '"bs": "1000"'
expect 0 "$FERRY" score long.ref long.a --against long.b,long.a
out_has 'BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0'
out_has 'Baseline: long.a = '
out_has 'long.a = '
out_has '(p = 0.0010)*'
cp .out first
expect 0 "$FERRY" score long.ref long.a --against long.b,long.a
cmp .out first || fail "the same seed draws the same samples"
expect 0 "$FERRY" score long.ref long.a --against long.b test=randomisation trials=99 metric=ter
out_has 'TER|nrefs:1|ar:99|seed:12345|case:lc|'
out_has 'long.b = '
expect 0 "$FERRY" score long.ref long.a --against long.b --json test=randomisation --confidence trials=99
out_has '"system": "Baseline: long.a"'
out_has '"p_value": null'
out_has 'nrefs:1|bs:1000|ar:99|seed:12345|'
expect 0 "$FERRY" score long.ref long.a --against long.b --score-only
[ "$(wc -l <.out)" -eq 2 ] || fail "want a score for each system"
refuses 2 "sentence = true gives each line a score" "$FERRY" score ref hyp --sentence --confidence
refuses 4 "short has 1 line but long.a has more" "$FERRY" score long.ref long.a --against short
refuses 2 "is one file too many; at most 16" "$FERRY" score ref hyp --against hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp,hyp
refuses 3 "absent: No such file" "$FERRY" score ref hyp --against absent
