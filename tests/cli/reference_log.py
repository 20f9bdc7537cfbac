"""usage: reference_log.py: prints what OpenSeq2Seq printed in a run of 106,300 steps.

The lines have its forms; losses and scores are those of a real run (four V100 on two hosts,
1,024 pairs a step, mixed precision, 1.941 s a step).
"""
TRAIN = """0 9.475 100 7.775 200 6.891 300 6.465 400 6.282 500 6.006 700 5.564 1000 5.001
1500 4.202 2000 3.555 3000 2.844 4000 2.520 5000 2.334 6000 2.201 8000 2.072 10000 1.921
12000 1.897 15000 1.858 18000 1.814 20000 1.764 25000 1.729 30000 1.731 40000 1.676
50000 1.604 60000 1.648 70000 1.596 80000 1.614 90000 1.586 100000 1.570"""
VALID = """9.447/.9465 2.4410/.2285 2.0132/.2901 1.8367/.3185 1.7575/.3359 1.7108/.3463
1.6785/.3501 1.6490/.3568 1.6403/.3602 1.6206/.3618 1.6183/.3635 1.6059/.3652 1.5905/.3685
1.5896/.3691 1.5825/.3701 1.5816/.3713 1.5734/.3723 1.5694/.3742 1.5717/.3728 1.5597/.3755
1.5638/.3729 1.5575/.3747 1.5506/.3755 1.5587/.3757 1.5517/.3776 1.5429/.3766 1.5469/.3776"""
LAST, EVERY = 106300, 4001


def curve():
    words = TRAIN.split()
    known = [(int(s), float(v)) for s, v in zip(words[::2], words[1::2])] + [(LAST, 1.568)]
    for step in range(0, LAST, 100):
        for (a, x), (b, y) in zip(known, known[1:]):
            if a <= step <= b:
                yield step, x + (y - x) * (step - a) / (b - a)
                break


print("*** Using horovod\n*** Starting training from scratch\n*** Training config:")
print("{'batch_size_per_gpu': 256,\n 'dtype': 'mixed',\n 'eval_steps': 4001,")
print(" 'lr_policy': <function transformer_policy at 0x7f2f3c0a5d08>,")
print(" 'lr_policy_params': {'d_model': 512, 'learning_rate': 2.0, 'warmup_steps': 8000},")
print(f" 'max_steps': {LAST},\n 'num_gpus': 1}}")
for rank in range(4):
    print(f"*** Building graph in Horovod rank: {rank}")
print("*** Total trainable parameters: 60880896")
valid = [v.split("/") for v in VALID.split()]
n_evals = 0
for step, loss in curve():
    while n_evals < len(valid) and n_evals * EVERY <= step:
        print("*** Running evaluation on a validation set:")
        for _ in range(4):
            print("***     *****EVAL Source[0]:     The <b>ship</b> sails.")
            print("***     *****EVAL Target[0]:     Das Schiff f\u00e4hrt.")
            print("***     *****EVAL Prediction[0]: Das Schiff <script> f\u00e4hrt.")
        print(f"***     Validation loss: {float(valid[n_evals][0]):.4f} ")
        print(f"***     Eval BLUE score: {float(valid[n_evals][1])}")
        n_evals += 1
    print(f"*** Global step {step}: ***     Train loss: {loss:.4f} ")
    print("time per step = 0:00:1.941")
print("*** Finished training\n*** Avg time per step: 1.946s")
print("*** Avg objects per second: 31872.115")
