# Translation over HTTP: the interface of LibreTranslate and its clients, and our own.
model=$ROOT/tests/data/model.ferry
refuses 2 'which model?' "$FERRY" serve
refuses 3 'none.ferry' "$FERRY" serve none.ferry
head -c 1000 "$model" >half.ferry
refuses 4 'half.ferry' "$FERRY" serve half.ferry
refuses 2 'both translate en to de' "$FERRY" serve "$model" "$model"
refuses 2 "no address to listen on" "$FERRY" serve "$model" host=nowhere
refuses 3 '192.0.2.1 is no address of this machine' "$FERRY" serve "$model" host=192.0.2.1
refuses 3 'keys.txt' "$FERRY" serve "$model" keys=keys.txt
printf 'key 5 x\n' >keys.txt
refuses 4 'line 1 is not KEY' "$FERRY" serve "$model" keys=keys.txt
refuses 2 'anonymous is for a server with keys' "$FERRY" serve "$model" --anonymous
: >libmicrohttpd.so.12 # one that is none: as where there is none
refuses 2 'apt-get install libmicrohttpd12' env LD_LIBRARY_PATH="$WORK" "$FERRY" serve "$model"
expect 0 env LD_LIBRARY_PATH="$WORK" "$FERRY" translate "$model"
rm libmicrohttpd.so.12
refuses 3 'none.tsv' "$FERRY" serve "$model" glossary=none.tsv
printf 'a\tb\nriver Fluss\n' >bad.tsv
refuses 4 'bad.tsv:2: want a term' "$FERRY" serve "$model" glossary=bad.tsv
printf 'a\tb\na\tc\n' >bad.tsv
refuses 4 'bad.tsv:2: the term has another phrase in line 1' "$FERRY" serve "$model" glossary=bad.tsv
printf 'a\t\n' >bad.tsv
refuses 4 'bad.tsv:1: the phrase is empty' "$FERRY" serve "$model" glossary=bad.tsv
printf 'a\t\377\n' >bad.tsv
refuses 4 'bad.tsv:1: the line is not valid UTF-8' "$FERRY" serve "$model" glossary=bad.tsv
printf 'a\tsee www.a.org\n' >bad.tsv
refuses 4 "bad.tsv:1: 'www.a.org' is a placeholder or an address" "$FERRY" serve "$model" glossary=bad.tsv
printf 'a\tb\n' >terms.tsv
refuses 2 'of which of 2 models' "$FERRY" serve "$model" "$model:de-fr" glossary=terms.tsv
refuses 2 'no model translates en to fr itself' "$FERRY" serve "$model" "$model:de-fr" glossary=terms.tsv:en-fr
refuses 2 'both for en to de' "$FERRY" serve "$model" glossary=terms.tsv,terms.tsv:en-de
expect 0 python3 "$ROOT/tests/cli/serve_libre.py" "$FERRY" "$model"

# profiles of its languages travel with a model and lie beside the data of a run
small_text
expect 0 "$FERRY" prepare source=en target=de valid=10 out=data vocab_size=90 source_lang=en target_lang=de
expect 0 "$FERRY" train data=data run=run d_model=32 d_ff=64 heads=2 encoder_layers=1 \
    decoder_layers=1 max_steps=2 save_every=2 eval_every=0 moving_average=0
expect 0 "$FERRY" pack run out=known.ferry pairs=0
expect 0 python3 "$ROOT/tests/cli/serve_detect.py" "$FERRY" known.ferry run "$model"
