# ctest: slow
# The recipes from their text files to the end, on the sample corpus, with models that learn nothing;
# called again they make nothing twice; what is wrong with their arguments is said.
export FERRY
tiny='max_steps=6 eval_every=3 save_every=3 batch_tokens=300 d_model=16 d_ff=16 heads=2 encoder_layers=1 decoder_layers=1 warmup_steps=2'
expect 0 "$FERRY" sample text pairs=200 valid=20 test=20
mkdir captions
for language in en de; do
    gzip -c text/train.$language >captions/train.lc.norm.tok.$language.gz
    cp text/valid.$language captions/val.$language
    cp text/test.$language captions/test_2016_flickr.$language
done

# made FILE...: there, and not empty
made()
{
    local file
    for file; do
        [ -s "$file" ] || fail "$file was not made"
    done
}

# twice DIR COMMAND...: the second call leaves the files of DIR as they are, but for the report
twice()
{
    local dir=$1
    shift
    expect 0 "$@"
    find "$dir" -name '*.ferry' -o -name 'train.bin' -o -name 'checkpoint' -o -name 'test*.de' |
        xargs md5sum >first
    touch -r first stamp
    expect 0 "$@"
    md5sum --quiet -c first || fail "the second call of $1 changed a file"
    [ -z "$(find "$dir" \( -name '*.ferry' -o -name 'train.bin' -o -name 'model.ckpt-*' \) -newer stamp)" ] ||
        fail "the second call of $1 made a file again"
}

twice m30k "$ROOT/recipes/multi30k" captions out=m30k vocab_size=300 $tiny
made m30k/data/train.bin m30k/choices.tsv m30k/en-de.ferry m30k/test.de m30k/run/report.html
[ "$(wc -l <m30k/choices.tsv)" -eq 6 ] || fail "two models and three penalties are six choices"
out_has 'BLEU on the validation set'
[ "$(grep -c '"event":"test"' m30k/run/run.jsonl)" -eq 1 ] || fail "the test set is scored once"
grep -qF "| test |" m30k/run/report.md || fail "the report lacks the test score"
grep -q '"event":"eval".*|tok:none|' m30k/run/run.jsonl || fail "validation compares tokenised text"
expect 0 "$ROOT/recipes/multi30k" captions out=seeds seeds=1,2 vocab_size=300 $tiny
made seeds/1/en-de.ferry seeds/2/en-de.ferry
out_has 'mean of 2 seeds and standard deviation: validation '
grep -qE 'test_2016_flickr [0-9.]+ ± [0-9.]+ ' .out || fail "no spread"
grep -q '^seed: 2$' seeds/2/run/config.yaml || fail "the second seed did not reach its training"
sed -i '/^score_tokenize:/d; /^# checksum/d' seeds/2/run/config.yaml # as one of before the option
expect 0 "$ROOT/recipes/multi30k" captions out=seeds seeds=2 vocab_size=300 $tiny
out_has 'BLEU of seed 2: validation '
out_lacks '±'
rm m30k/data/prepare.json # as where a preparation was stopped before its end
expect 0 "$ROOT/recipes/multi30k" captions out=m30k vocab_size=300 $tiny
made m30k/data/prepare.json

# A training that is asked to stop saves and ends well; the recipe chooses and tests nothing then.
cat >stopped-ferry <<'END'
#!/usr/bin/env bash
[ "$1" = train ] || exec "$REAL" "$@"
"$REAL" "$@" &
for i in $(seq 300); do
    ! grep -qs '"event":"step"' stopped/run/run.jsonl || break
    sleep 0.1
done
kill -TERM $!
wait $!
END
chmod +x stopped-ferry
stopped=("$ROOT/recipes/multi30k" captions out=stopped vocab_size=300 $tiny log_every=1 max_steps=1000000 eval_every=1000000)
expect 2 env REAL="$FERRY" FERRY="$PWD/stopped-ferry" "${stopped[@]}"
err_has 'the training in stopped/run was stopped; the same command goes on'
[ ! -e stopped/choices.tsv ] || fail "something was chosen of a training that was stopped"

expect 0 "$FERRY" sample more pairs=6000 valid=1 test=1
paste more/train.de more/train.en | gzip >pairs.tsv.gz
twice tatoeba "$ROOT/recipes/tatoeba" pairs.tsv.gz out=tatoeba seed=3 $tiny eval_bleu_pairs=8
made tatoeba/model.ferry tatoeba/run/report.html
grep -q '^seed: 3$' tatoeba/run/config.yaml || fail "the seed did not reach the training"

sed -i '7s/ /\t/' text/train.en # a tab is a blank
twice student "$ROOT/recipes/student" text/train.en text/train.de valid=text/valid.en,text/valid.de \
    test=text/test.en,text/test.de out=student vocab_size=300 nbest=3 keep=0.9 $tiny
made student/teacher.ferry student/student.ferry student/report.html
[ "$(wc -l <student/distilled.tsv)" -eq 180 ] || fail "0.9 of 200 lines are 180, not $(wc -l <student/distilled.tsv)"
[ "$(wc -l <student/closest)" -eq 200 ] || fail "one translation is chosen for each line"
out_has 'student-int8'
[ "$(grep -c '"event":"test"' student/student/run.jsonl)" -eq 1 ] || fail "the student is scored once"
grep -qE '^student-int8 +[0-9.]+ +[1-9][0-9]*$' .out || fail "no words a second"
grep -qE '^The student has [0-9.]+ % of the parameters; BLEU is [-+][0-9.]+, ' .out || fail "the loss is not told"
[ "$(awk -F '\t' 'NF != 2' student/given.tsv | wc -l)" -eq 0 ] || fail "a pair has more than two columns"

cut -d ' ' -f 2- text/train.de >mono.de
twice back "$ROOT/recipes/backtranslation" text/train.en text/train.de mono.de text/train.de seed=2 keep=0.8 \
    valid=text/valid.en,text/valid.de test=text/test.en,text/test.de out=back vocab_size=300 $tiny
[ "$(grep -c '"event":"test"' back/run/run.jsonl)" -eq 1 ] || fail "the run is scored once"
made back/model.ferry back/run/report.html back/bt/train.bin
[ "$(wc -l <back/sampled.tsv)" -eq 400 ] && [ "$(wc -l <back/bt.tsv)" -eq 320 ] || fail "0.8 of 400 lines are 320"
cut -f 1 back/sampled.tsv | cmp - <(cat mono.de text/train.de) || fail "the sources of the pairs are the text"
grep -qF '| shares of an epoch | data:1,bt:1 |' back/run/report.md || fail "the model was not trained on both"

# wrong TEXT COMMAND...: status 2 and one sentence with TEXT
wrong()
{
    local text=$1
    shift
    expect 2 timeout 60 "$@"
    err_has "$text"
    [ "$(wc -l <"$WORK/.err")" -eq 1 ] || fail "want one sentence"
}

wrong 'train.en' "$ROOT/recipes/multi30k"
wrong 'no option' "$ROOT/recipes/multi30k" captions seed
wrong 'name two files each' "$ROOT/recipes/student" text/train.en text/train.de valid=text/valid.en
wrong 'name the files of source and target, and text' "$ROOT/recipes/backtranslation" text/train.en text/train.de
held='valid=text/valid.en,text/valid.de test=text/test.en,text/test.de'
wrong 'text is a directory' "$ROOT/recipes/backtranslation" text/train.en text/train.de text $held
cp mono.de one,two
wrong 'one,two: a name with a comma' "$ROOT/recipes/backtranslation" text/train.en one,two mono.de $held
for keep in 0 1.1 -1 . '' some; do
    wrong "keep=$keep: want a share" "$ROOT/recipes/backtranslation" text/train.en text/train.de mono.de $held out=no keep=$keep
    wrong "keep=$keep: want a share" "$ROOT/recipes/student" text/train.en text/train.de $held out=no keep=$keep
done
for seeds in '' , 1,1 1,02,2 '1 2'; do
    wrong "seeds=$seeds: want different numbers" "$ROOT/recipes/multi30k" captions out=no seeds="$seeds"
done
[ ! -e no ] || fail "work was begun with wrong arguments"
expect 2 env FERRY=/bin/false bash -c '. "$ROOT/recipes/lib.bash"; words=$(speed model text/test.en); echo "$words"'
err_has 'the speed of model could not be measured'
wrong 'has no val' "$ROOT/recipes/multi30k" text out=none
