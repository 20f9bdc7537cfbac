# A small data directory `data` and a trained run `run`, for the tests that source this.
expect 0 "$FERRY" sample corpus pairs=500
expect 0 "$FERRY" prepare source=corpus/train.en target=corpus/train.de \
    valid_source=corpus/valid.en valid_target=corpus/valid.de \
    test_source=corpus/test.en test_target=corpus/test.de out=data vocab_size=400 \
    measure=false
rm data/proposal.yaml # the options below and the defaults
expect 0 "$FERRY" train data=data run=run d_model=32 d_ff=64 heads=2 encoder_layers=2 \
    decoder_layers=2 max_steps=6 log_every=1 summary_every=1 eval_every=3 eval_bleu=false
