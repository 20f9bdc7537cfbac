# What tools/test-packages runs with the module: lines in, lines out.
import sys

import ferry

with ferry.Model(sys.argv[1]) as model:
    for line in sys.stdin:
        print(model.translate(line.rstrip("\n")).text)
