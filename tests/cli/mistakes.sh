# Every mistake is one sentence that names it, with the exit status of its kind, and
# leaves nothing behind.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
train=("$FERRY" train data=data run=x "${tiny[@]}" max_steps=2)

# a configuration file: wrong names, values, forms
yaml_refuses()
{
    printf -- "$3" >c.yaml
    refuses "$1" "$2" "$FERRY" train c.yaml data=data run=x
}
yaml_refuses 2 "c.yaml:2: unknown option 'max_stpes'; did you mean 'max_steps'?" \
    'seed: 1\nmax_stpes: 3\n'
yaml_refuses 2 'c.yaml:1: max_steps = many: want a number' 'max_steps: many\n'
yaml_refuses 2 'c.yaml:1: max_steps = 3.5: want a whole number' 'max_steps: 3.5\n'
yaml_refuses 2 'c.yaml:1: label_smoothing = 2: want a number from 0 to 0.999' 'label_smoothing: 2\n'
yaml_refuses 2 'c.yaml:1: pin = maybe: want true or false' 'pin: maybe\n'
yaml_refuses 2 'c.yaml:1: optimizer = sgd: want one of adam|adamw|novograd' 'optimizer: sgd\n'
yaml_refuses 2 'c.yaml:1: max_steps = : want a number' 'max_steps:\n'
yaml_refuses 4 'c.yaml:2: want a value or a list, not a mapping' 'optimizer:\n  name: adam\n'
yaml_refuses 4 'c.yaml:2: max_steps was already set in line 1' 'max_steps: 3\nmax_steps: 4\n'
yaml_refuses 4 'c.yaml:1: not valid YAML' 'a: b: c\n{'
yaml_refuses 4 "c.yaml:1: want lines of the form 'option: value'" '- 1\n- 2\n'
yaml_refuses 4 "c.yaml:1: want lines of the form 'option: value'" 'just text\n'
yaml_refuses 4 'c.yaml:1' '\377\376: 3\n'
mkdir data.yaml
refuses 2 "there is no file 'data' here and no configuration of that name" \
    "$FERRY" train data data=data run=x
refuses 3 'none.yaml: No such file' "$FERRY" train none.yaml data=data run=x
refuses 3 'data.yaml: not a regular file' "$FERRY" train data.yaml data=data run=x

# options that are wrong, missing, or contradict each other
mkdir held
refuses 3 'held/.lock: another process is training in this directory' \
    flock held/.lock "$FERRY" train data=data run=held "${tiny[@]}" max_steps=2

refuses 2 'data is not set' "$FERRY" train
refuses 2 'run is not set' "$FERRY" train data=data
refuses 2 "unexpected argument 'b'" "$FERRY" train a b
refuses 2 'a file with both sides: pairs=mine.tsv' "$FERRY" prepare mine.tsv
refuses 2 '--max-steps needs a value' "$FERRY" train --max-steps
refuses 2 'batch_tokens = 100 and batch_sentences = 4' "${train[@]}" batch_sentences=4
refuses 2 'batch_tokens = 0 and batch_sentences = 0' "${train[@]}" batch_tokens=0
refuses 2 'vocab_size = 50, but the tokenizer of data has 80 pieces' "${train[@]}" vocab_size=50
refuses 2 'device = abacus: want one of' "${train[@]}" device=abacus
refuses 2 'd_model = 16 is not a multiple of heads = 3' "${train[@]}" heads=3
refuses 2 'augment_upper, augment_title and augment_lower add up to 1.2' \
    "${train[@]}" augment_upper=0.7 augment_lower=0.5
refuses 2 'bpe_dropout = 2: want a number from 0 to 1' "${train[@]}" bpe_dropout=2
refuses 2 'best_metric = bleu needs eval_bleu' "${train[@]}" best_metric=bleu
refuses 2 'larc = clip and max_grad_norm = 1 exclude' "${train[@]}" larc=clip max_grad_norm=1
refuses 2 'freeze = [: not a regular expression' "${train[@]}" freeze=[
refuses 2 'lr_policy = nope: want one of' "${train[@]}" lr_policy=nope
[ ! -e x ] || fail "a refused command made its directory"
refuses 2 'freeze = nothing' "${train[@]}" freeze=nothing
refuses 3 'init_from: none: no such run' "${train[@]}" init_from=none

# places that are not what they should be
refuses 3 'none: no such directory; make it with ferry prepare' "$FERRY" train data=none run=x
refuses 3 'train.en: no such directory' "$FERRY" train data=train.en run=x
refuses 3 'train.en: exists and is not a directory' "$FERRY" train data=data run=train.en
refuses 3 '/proc/ferry' "$FERRY" train data=data run=/proc/ferry
refuses 3 'none: no such run directory' "$FERRY" eval none
refuses 3 'data has no checkpoint yet' "$FERRY" eval data
refuses 3 'none: no such run directory' "$FERRY" translate none
ln -s round round
refuses 3 'round: Too many' "$FERRY" translate round
refuses 3 'none: no such run directory' "$FERRY" average none out=y
refuses 3 'none: no such directory' "$FERRY" report none
refuses 3 'none: no such file, directory or checkpoint' "$FERRY" inspect none

# a run: resumed with other options, other data, without checkpoints
rm -rf x
expect 0 "${train[@]}"
refuses 2 'd_model = 32, but this run began with d_model = 16' "${train[@]}" d_model=32
refuses 2 'optimizer = adamw, but this run began with optimizer = adam' \
    "${train[@]}" optimizer=adamw
refuses 2 'seed = 4, but this run began with seed = 1' "$FERRY" train run=x seed=4
tiny_data larger vocab_size=90
tiny_text train 1000 120
tiny_data another
refuses 4 'the vocabulary of larger has 90 pieces, the model 80' "$FERRY" eval x data=larger
refuses 4 'the tokenizer of another is not that of the model in x' "$FERRY" eval x data=another
refuses 2 'the vocabulary of another is not the one that the run in x began with (data = ' \
    "$FERRY" train run=x data=another
refuses 3 'there is no checkpoint model.ckpt-9' "$FERRY" eval x checkpoint=model.ckpt-9
refuses 2 'at_least = 3 needs bleu' "$FERRY" eval x at_least=3 --no-bleu
expect 1 "$FERRY" eval x at_least=99
err_has 'ferry eval: BLEU is'
refuses 3 'none.txt: No such file' "$FERRY" translate x none.txt
refuses 3 '. is a directory' "$FERRY" translate x .
refuses 2 'nbest = 9: a beam of 2' "$FERRY" translate x test.en nbest=9 beam=2
refuses 3 'no/such: No such file' "$FERRY" translate x test.en output=no/such
refuses 3 'there is no checkpoint model.ckpt-7' "$FERRY" average x out=y steps=7
expect 2 "$FERRY" average x out=x
err_has 'a model is there already'
refuses 3 'no/such/x.html: No such file' "$FERRY" report x out=no/such/x.html
mv x/checkpoint kept
expect 0 "$FERRY" eval x checkpoint=last --no-bleu # found by their names
mkdir none
cp x/config.yaml x/vocab.model none
refuses 3 'none has no checkpoint yet' "$FERRY" eval none checkpoint=last
echo garbage >x/checkpoint
expect 0 "$FERRY" eval x checkpoint=last --no-bleu
err_has '; using x/model.ckpt-2 instead'
expect 0 "$FERRY" train run=x
err_has 'x/checkpoint: line'
mv kept x/checkpoint
expect 0 "$FERRY" eval x --no-bleu

# one digit of a run's options, or one letter of its vocabulary, decides every number
cp -r x edited
sed -i 's/^seed: .*/seed: 77/' edited/config.yaml
changed='edited/config.yaml is not as the training wrote it'
refuses 4 "$changed" "$FERRY" train run=edited max_steps=99
refuses 4 "$changed" "$FERRY" eval edited
refuses 4 "$changed" "$FERRY" translate edited test.en
refuses 4 "$changed" "$FERRY" average edited out=mean
refuses 4 "$changed" "$FERRY" inspect edited
expect 0 "$FERRY" train edited/config.yaml run=other max_steps=1 # options for another run
grep -q '^seed: 77$' other/config.yaml || fail "a run's options, edited, do not make another run"
sed -i '/^# checksum /d' edited/config.yaml
expect 0 "$FERRY" eval edited --no-bleu
cp -r x worn
sed -i 's/the/tha/' worn/vocab.model
cmp -s x/vocab.model worn/vocab.model && fail "the vocabulary is the same"
changed='worn/vocab.model is not as the training wrote it'
refuses 4 "$changed" "$FERRY" translate worn test.en
refuses 4 "$changed" "$FERRY" inspect worn --verify
refuses 4 "$changed" "$FERRY" train run=worn max_steps=99
rm -r edited other worn none

# numbers that leave the finite: the updates are skipped, then the run ends, said once
expect 8 "$FERRY" train data=data run=diverged "${tiny[@]}" max_steps=50 learning_rate=1e6 \
    coefficient=1e6 warmup_steps=1 skip_limit=2
err_has 'step 2 skipped: the gradient of update 2 is not finite'
[ "$(grep -c 'updates in a row were not finite; lower learning_rate' .err)" -eq 1 ] ||
    fail "want the reason once"
tail -n 1 diverged/run.jsonl >.out
out_has '"reason":"error"'

# a run knows its data from any directory
mkdir -p elsewhere
(cd elsewhere && "$FERRY" eval ../x --no-bleu >out 2>err) || fail "eval from another directory: $(cat elsewhere/err)"
(cd elsewhere && "$FERRY" train run=../x max_steps=3 >out 2>err) ||
    fail "resume from another directory: $(cat elsewhere/err)"

# a held-out set that was damaged since it was made
cp -r data flipped
cp flipped/test.bin whole
printf '\377' | dd of=flipped/test.bin bs=1 seek=$(($(stat -c %s whole) / 2)) conv=notrunc 2>.dd
refuses 4 'test.bin: the packed corpus is damaged' "$FERRY" eval x data=flipped
expect 0 "$FERRY" eval x data=flipped set=valid --no-bleu

# a data directory: unfinished, without its vocabulary, with another, cut
cp -r data broken
rm broken/prepare.json
refuses 4 'broken was not finished' "$FERRY" train data=broken run=y
cp data/prepare.json broken
rm broken/vocab.model
refuses 3 'broken/vocab.model: No such file' "$FERRY" train data=broken run=y
cp another/vocab.model broken
refuses 4 'broken/vocab.model is a vocabulary that does not match' "$FERRY" train data=broken run=y
cp data/vocab.model broken
head -c 300 data/train.bin >broken/train.bin
refuses 4 'broken/train.bin: the packed corpus was cut short' "$FERRY" train data=broken run=y
cp data/train.bin broken
head -n 11 data/valid.source >broken/valid.source
refuses 4 'broken/valid.source has 11 lines, its corpus 12 pairs' "$FERRY" train data=broken run=y
[ ! -e y ] || fail "a refused command made its directory"

# parallel text: empty, unequal, nothing left
: >empty
printf '\n\n' >blank
refuses 4 'empty: the file is empty' "$FERRY" prepare source=empty target=empty out=z
refuses 4 'train.en has 120 lines and test.de has 6' \
    "$FERRY" prepare source=train.en target=test.de out=z
refuses 2 'valid_source is given without valid_target' \
    "$FERRY" prepare source=train.en target=train.de valid_source=valid.en out=z
refuses 4 'valid.en has 12 lines and test.de has 6' "$FERRY" prepare source=train.en \
    target=train.de valid_source=valid.en valid_target=test.de out=z
[ ! -e z ] || fail "a refused command made its directory"
expect 4 "$FERRY" prepare source=blank target=blank out=z
err_has 'no pairs are left of 2'
expect 4 "$FERRY" prepare source=train.en target=train.de tokenizer=test.en out=z
err_has 'not a SentencePiece model'
