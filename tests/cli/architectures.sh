# Models of other architectures: trained, resumed, evaluated, packed and translated with, on every
# device.
. "$ROOT/tests/cli/tiny.bash"
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\).*/\1/p' "$1/run.jsonl"; }
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a - b; exit !(d <= e && -d <= e) }'; }

tiny_data data
paste test.en test.de >pairs
devices=cpu
"$FERRY" doctor --device opencl >doctor.txt 2>&1 && devices="cpu opencl"

# check NAME option...: the same losses on every device, and one model whoever reads it
check()
{
    local name=$1 device options
    options=(data=data "${tiny[@]}" encoder_layers=2 learning_rate=0.05 log_every=1
        label_smoothing=0 max_steps=12 "${@:2}")
    for device in $devices; do
        expect 0 "$FERRY" train run=$name-$device device=$device "${options[@]}"
        paste <(losses $name-cpu) <(losses $name-$device) |
            awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) exit 1 }' ||
            fail "$name: other losses on $device"
        expect 0 "$FERRY" translate $name-cpu test.en device=$device
        cp .out $name.$device
        cmp $name.cpu $name.$device || fail "$name: $device translates otherwise"
    done
    [ "$(losses $name-cpu | tail -n 1 | cut -c1-4)" != "$(losses $name-cpu | head -n 1 | cut -c1-4)" ] ||
        fail "$name learns nothing"
    grep -q "^${2%%=*}: ${2#*=}$" $name-cpu/config.yaml || fail "$name: config.yaml does not say $2"
    expect 0 "$FERRY" pack $name-cpu out=$name.ferry precision=fp32 pairs=5
    expect 0 "$FERRY" translate $name.ferry test.en
    cmp .out $name.cpu || fail "$name: packed, it translates otherwise"
    expect 0 "$FERRY" score-pairs $name.ferry pairs
    cp .out float
    expect 0 "$FERRY" pack $name-cpu out=$name-8.ferry precision=int8 pairs=5
    expect 0 "$FERRY" translate $name-8.ferry test.en
    [ "$(wc -l <.out)" = 6 ] || fail "$name: in int8 $(wc -l <.out) lines of 6"
    expect 0 "$FERRY" score-pairs $name-8.ferry pairs
    [ "$(paste .out float | awk '{ d = $2 - $4 } d <= 0.01 && -d <= 0.01' | wc -l)" = 6 ] || # a token
        fail "$name: other scores in int8 than in float: $(paste .out float)"
    expect 0 "$FERRY" eval $name.ferry data=data set=valid bleu=false
    packed=$(awk '/^cross entropy/ { print $3 }' .out)
    expect 0 "$FERRY" eval $name-cpu set=valid bleu=false
    trained=$(awk '/^loss/ { print $2 }' .out)
    near "$packed" "$trained" 0.0002 || fail "$name: loss $trained of the run, $packed packed"
}

check behind norm=post activation=swish attention_bias=true output_bias=true sentence_begin=false \
    decoder_start=0 positions=halves
check gated gated=true activation=gelu tables=separate positions=learned max_positions=40
# What is cut is told with the length that the model has learned.
printf 'the %.0s' {1..60} >long
expect 0 "$FERRY" translate gated.ferry long split=false
err_has 'are longer than max_length = 40 tokens and were cut'
printf '%s\tUfer\n' "$(cat long)" >pair
expect 0 "$FERRY" score-pairs gated.ferry pair
err_has 'are longer than max_length = 40 tokens and were cut'
check shallow tables=target decoder_layers=1 encoder_layers=4 norm=post embed_scale=false
check shared unique_decoder_layers=2 decoder_layers=4 encoder_layers=3 unique_encoder_layers=1 \
    layer_order=cycle_rev norm=post activation=swish

# Layers that share weights: checkpoints hold each set once, packed models and exports a copy for each
# layer; the numbers of parameters are those of the sets.
options=(data=data "${tiny[@]}" log_every=1 max_steps=3 decoder_layers=4 encoder_layers=3)
expect 0 "$FERRY" train run=own "${options[@]}"
expect 0 "$FERRY" train run=sets "${options[@]}" unique_decoder_layers=2 unique_encoder_layers=1
grep -q unique_ own/config.yaml && fail "config.yaml of untied layers speaks of tied ones"
parameters() { "$FERRY" inspect "$1" | awk '$1 == "parameters" { gsub(",", "", $2); print $2; exit }'; }
logged() { sed -n 's/.*"event":"start".*"parameters":\([0-9]*\).*/\1/p' "$1/run.jsonl"; }
[ "$(parameters own)" = "$(logged own)" ] || fail "own: $(parameters own), logged $(logged own)"
[ "$(parameters sets)" = "$(logged sets)" ] || fail "sets: $(parameters sets), logged $(logged sets)"
[ "$(parameters sets)" -lt "$(parameters own)" ] || fail "as many parameters with shared layers"
expect 0 "$FERRY" inspect sets tensors=true
grep -q 'layer_1/self_attention.*encoder\|transformer_encoder/layer_1' .out && fail "an encoder layer too many"
grep -q 'transformer_decoder/layer_1' .out || fail "no second set of the decoder"
grep -q 'transformer_decoder/layer_2' .out && fail "a decoder layer too many"
for to in safetensors tensorflow; do
    expect 0 "$FERRY" export sets out=as-$to to=$to
    grep -q 'Its layers share weights; what is written has a copy of them for each layer' .out ||
        fail "$to: $(cat .out)"
done
expect 0 "$FERRY" translate sets test.en
cp .out sets.txt
expect 0 "$FERRY" translate as-safetensors test.en
cmp .out sets.txt || fail "exported, it translates otherwise"
expect 0 "$FERRY" pack sets out=sets.ferry precision=fp32 pairs=5
refuses 2 'sets.ferry is another model; train it with unique_encoder_layers=0 unique_decoder_layers=0' \
    "$FERRY" train run=new "${options[@]}" unique_decoder_layers=2 unique_encoder_layers=1 \
    init_from=sets.ferry
refuses 2 'init_from: its layers share weights otherwise; train it with unique_encoder_layers=0' \
    "$FERRY" train run=new "${options[@]}" unique_decoder_layers=2 init_from=own
refuses 2 'train it with unique_encoder_layers=1 unique_decoder_layers=2 layer_order=cycle' \
    "$FERRY" train run=new "${options[@]}" init_from=sets
refuses 2 'layer_order = sequence, but this run began with layer_order = cycle' \
    "$FERRY" train run=sets "${options[@]}" unique_decoder_layers=2 unique_encoder_layers=1 \
    layer_order=sequence
refuses 2 'unique_decoder_layers = 4 of 4 layers' "$FERRY" train run=new "${options[@]}" \
    unique_decoder_layers=4
expect 0 "$FERRY" train run=on "${options[@]}" unique_decoder_layers=2 unique_encoder_layers=1 \
    init_from=sets

# A run goes on as it began, and what cannot be is refused.
refuses 2 'norm = pre, but this run began with norm = post' \
    "$FERRY" train run=behind-cpu data=data "${tiny[@]}" encoder_layers=2 learning_rate=0.05 \
    label_smoothing=0 log_every=1 norm=pre
refuses 2 'max_length = 32, but max_positions = 20' "$FERRY" train run=new data=data "${tiny[@]}" \
    positions=learned max_positions=20
refuses 2 'source_vocab_size = 90, vocab_size = 80' "$FERRY" train run=new data=data "${tiny[@]}" \
    source_vocab_size=90
