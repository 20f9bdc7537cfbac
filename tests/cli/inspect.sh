# What is inside each kind of file; and every kind of broken file is one sentence.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
expect 0 "$FERRY" train data=data run=run "${tiny[@]}" max_steps=6 save_every=3 summary_every=2 \
    eval_every=3 moving_average=0.5

# a line of the last output with this first and last word, blanks squeezed
out_row() { tr -s ' ' <.out | grep -qxF -e "$1" || fail "stdout lacks the row '$1'"; }

# a checkpoint, by its prefix and by each of its files, and of a directory the newest
for name in run/model.ckpt-6 run/model.ckpt-6.index run/model.ckpt-6.data-00000-of-00001 \
    run/model.ckpt-6.meta run/model.ckpt-6.state run/checkpoint; do
    expect 0 "$FERRY" inspect "$name"
    out_row 'checkpoint run/model.ckpt-6'
    out_row 'step 6'
    out_row 'tensors 143'
    out_row 'parameters 6,192'
done
# V d + 4 (enc) + 8 (dec) matrices of d d, 2 (2 d F + F + d), 2 (2 + 3 + 2) norms of d:
# 80 * 16 + 12 * 16 * 16 + 2 * (2 * 16 * 24 + 24 + 16) + 14 * 16 = 6192; 4 * 4 * 6192 + 16
out_row 'model.ckpt-6.data-00000-of-00001 99,088 the values of the tensors, one after the other'
out_row 'weights 35 6,192 24,768'
out_row 'moving average of the weights 35 6,192 24,768'
out_row "first moments (Adam's m) 35 6,192 24,768"
out_row "second moments (Adam's v) 35 6,192 24,768"
out_row 'counters: step, powers of the betas 3 3 16'
out_row 'all 143 24,771 99,088'
out_row 'state step 6'
out_row 'state corpus pairs 120'
out_row 'ForwardPass/transformer_encoder/embedding_shared_weights/embedding_and_softmax/weights [80,16] float32 5,120'
out_row 'global_step [] int64 8'
[ "$(grep -c float32 .out)" -eq 142 ] || fail "want 142 tensors of float32"
expect 0 "$FERRY" inspect run/model.ckpt-6 --no-tensors --verify
out_row 'checksums all right'
out_lacks float32
expect 0 "$FERRY" inspect run/model.ckpt-0 --values
out_row 'ForwardPass/transformer_encoder/layer_normalization/layer_norm_scale [16] float32 64 1 0 1 1'
out_row 'Loss_Optimization/beta1_power [] float32 4 0.9 0 0.9 0.9'
expect 0 "$FERRY" inspect run/model.ckpt-6 --values
out_row 'global_step [] int64 8 6 0 6 6'
expect 0 "$FERRY" inspect "$ROOT/tests/data/golden" --values
out_row 'b/matrix [2,3] float32 24 2.5 1.70783 0 5' # 0 .. 5: the root of 35/12
out_row 'c/half [3] float16 6 1 0.816497 0 2'
out_row 'd/bfloat [2] bfloat16 4 -0.5 1.5 -2 1'
expect 0 "$FERRY" inspect "$ROOT/tests/data/golden_string" --verify
out_row 's [2] string 9'
cp "$ROOT"/tests/data/golden_shards.* .
expect 0 "$FERRY" inspect golden_shards --verify
out_has 'golden_shards.data-00001-of-00002'

# a run: its log, then its newest checkpoint
expect 0 "$FERRY" inspect run --no-tensors
out_row 'run log run/run.jsonl'
out_row 'ended max_steps'
out_row 'max steps 6'
out_row 'evaluated 2'
out_row 'checkpoint run/model.ckpt-6'
expect 0 "$FERRY" inspect run/best_models --no-tensors
out_has 'checkpoint          run/best_models/val_loss='
expect 0 "$FERRY" inspect run/run.jsonl
out_row 'sessions 1'
cp run/run.jsonl somelog
expect 0 "$FERRY" inspect somelog
out_row 'run log somelog'

# an event file: its tags, then the points of one
events=$(echo run/events.out.tfevents.*)
cp "$events" renamed
expect 0 "$FERRY" inspect renamed
out_has 'Loss_Optimization/global_gradient_norm'
tr -s ' ' <.out | grep -q '^train_loss 4 1 6 ' || fail "train_loss should have points 1, 2, 4, 6"
expect 0 "$FERRY" inspect "$events" tag=learning_rate
# 0.5 / sqrt(16) * t / 8^1.5 at t = 1
tr -s ' ' <.out | grep -q '^ 1 0.00552427 ' || fail "the first learning rate is wrong"
refuses 2 "has no tag 'train_los'; did you mean 'train_loss'?" \
    "$FERRY" inspect "$events" tag=train_los

# a corpus, a data directory, a tokenizer
cp data/train.bin packed
expect 0 "$FERRY" inspect packed
out_row 'pairs 120'
out_row 'vocabulary 80'
out_has 'tokens a sentence'
hash=$(tr -s ' ' <.out | sed -n 's/^tokenizer //p')
expect 0 "$FERRY" inspect data
out_row 'pairs kept 120'
out_row "tokenizer $hash"
tr -s ' ' <.out | grep -q '^valid 12 ' || fail "the valid set is not listed"
expect 0 "$FERRY" inspect data/prepare.json --verify
out_row 'checksums all right'
# training pairs: as they are stored, and as two epochs would vary them
expect 0 "$FERRY" inspect data pairs=2
out_has 'source'
[ "$(grep -cE '^ +[01] +0  ' .out)" -eq 2 ] || fail "want two pairs"
text_of() { tail -n "$1" .out | head -n 1 | sed -E 's/^ +[0-9]+ +[0-9]+ +//; s/  .*//; s/ //g; s/▁/ /g; s/^ //'; }
expect 0 "$FERRY" inspect data pairs=1 epochs=2 bpe_dropout=0.7
[ "$(tail -n 1 .out)" != "$(tail -n 2 .out | head -n 1)" ] || fail "two epochs should differ"
[ "$(text_of 1)" = "$(text_of 2)" ] || fail "dropout changed the text"
expect 0 "$FERRY" inspect data pairs=1 --json
grep -q '"train":\[{"pair":0,"epoch":0,"source":"▁' .out || fail "JSON lacks the pair"
refuses 2 'augment_upper, augment_title and augment_lower add up to 2' \
    "$FERRY" inspect data pairs=1 augment_upper=1 augment_title=1
refuses 2 'it is BPE: set bpe_dropout instead' "$FERRY" inspect data pairs=1 subword_alpha=0.2
cp data/vocab.model pieces
expect 0 "$FERRY" inspect pieces pieces=5
out_row 'model BPE'
out_row 'pieces 80'
out_row 'control 3'
out_row "hash $hash"
out_row 'end of sentence 1 </s>'
[ "$(tail -n 1 .out | tr -s ' ' | cut -d ' ' -f 2)" = 4 ] || fail "want the pieces 0 to 4"
expect 0 "$FERRY" inspect "$ROOT/tests/data/spm_unigram.model" pieces=0
out_row 'model unigram'

# several at once, and for programs
expect 0 "$FERRY" inspect data pieces "$events" run/model.ckpt-0 --json
[ "$(wc -l <.out)" -eq 4 ] || fail "want one line a page"
sed -n 4p .out >one
grep -q '"parameters":6192,' one || fail "JSON lacks the parameters"
grep -q '"shape":"\[80,16\]"' one || fail "JSON lacks the shapes"
! grep -q 'nan' one || fail "JSON has no NaN"

# broken files: nothing, too little, something else, a bit off
mkdir broken
: >broken/empty
refuses 4 'broken/empty: the file is empty' "$FERRY" inspect broken/empty
refuses 3 'none: no such file, directory or checkpoint' "$FERRY" inspect none
refuses 4 'broken is neither a run directory, a data directory nor a model' "$FERRY" inspect broken
refuses 4 'train.en is neither checkpoint, event file' "$FERRY" inspect train.en
refuses 3 '/dev/null: not a regular file' "$FERRY" inspect /dev/null
mkfifo pipe
refuses 3 'pipe: not a regular file' "$FERRY" inspect pipe
refuses 2 'which file?' "$FERRY" inspect
cp data/train.bin data/vocab.model run/model.ckpt-6.* run/run.jsonl data/prepare.json broken
cp "$events" broken/events.out.tfevents.1
for f in train.bin vocab.model model.ckpt-6.index model.ckpt-6.data-00000-of-00001 \
    model.ckpt-6.state events.out.tfevents.1 run.jsonl prepare.json; do
    cp "broken/$f" whole
    for n in 1 11 20; do
        head -c $n whole >"broken/$f"
        refuses 4 "broken/$f" "$FERRY" inspect "broken/$f"
    done
    cp whole "broken/$f"
    expect 0 "$FERRY" inspect "broken/$f"
done
head -c 300 "$events" >broken/events.out.tfevents.1
expect 0 "$FERRY" inspect broken/events.out.tfevents.1
out_has 'inside an event: its writer was killed or still runs'
printf X | dd of=broken/train.bin bs=1 seek=200 conv=notrunc 2>/dev/null
refuses 4 'broken/train.bin' "$FERRY" inspect broken/train.bin
data=broken/model.ckpt-6.data-00000-of-00001
printf X | dd of=$data bs=1 seek=99076 conv=notrunc 2>/dev/null
expect 0 "$FERRY" inspect $data --no-tensors
refuses 4 "beta2_power' fails its checksum" "$FERRY" inspect broken/model.ckpt-6 --verify
cp run/model.ckpt-6.* broken
head -c 100 run/model.ckpt-6.meta >broken/model.ckpt-6.meta
refuses 4 'broken/model.ckpt-6.meta is not whole' "$FERRY" inspect broken/model.ckpt-6 --verify
cp run/model.ckpt-6.* broken
# bytes that nothing reads change no number, but nobody should have written them
echo more >>$data
expect 0 "$FERRY" inspect broken/model.ckpt-6 --no-tensors
refuses 4 "$data has 5 bytes behind the last tensor" "$FERRY" inspect broken/model.ckpt-6 --verify
cp run/model.ckpt-6.* broken
tail -c 48 run/model.ckpt-6.index >>broken/model.ckpt-6.index # a second footer
expect 0 "$FERRY" inspect broken/model.ckpt-6 --no-tensors
refuses 4 'model.ckpt-6.index has 48 bytes that no block covers' \
    "$FERRY" inspect broken/model.ckpt-6 --verify
cp run/model.ckpt-6.* broken
# the index alone tells what is in a checkpoint, but not whether the values are right
rm $data
for name in broken/model.ckpt-6.index broken/model.ckpt-6; do
    expect 0 "$FERRY" inspect $name
    out_row 'checkpoint broken/model.ckpt-6'
    out_row 'values not checked: model.ckpt-6.data-00000-of-00001 is not there'
    out_row 'parameters 6,192'
    out_row 'all 143 24,771 99,088'
    out_row 'global_step [] int64 8'
    out_row 'state step 6'
    ! tr -s ' ' <.out | grep -q '^step\|^checksums' || fail "only the data file tells the step"
done
refuses 3 "$data is not there; without it values cannot be" \
    "$FERRY" inspect broken/model.ckpt-6.index --verify
refuses 3 "$data is not there" "$FERRY" inspect broken/model.ckpt-6 --values
rm golden_shards.data-00001-of-00002
expect 0 "$FERRY" inspect golden_shards --json
grep -q '"values":"not checked: golden_shards.data-00001-of-00002 is not there"' .out ||
    fail "JSON does not say that data is missing"
cp run/model.ckpt-6.* broken
rm broken/model.ckpt-6.index
refuses 3 'broken/model.ckpt-6.index is missing' "$FERRY" inspect $data
rm run/model.ckpt-6.data-00000-of-00001
expect 0 "$FERRY" inspect run --no-tensors
out_has 'using run/model.ckpt-3 instead'
