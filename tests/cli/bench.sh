# `ferry bench`: every part prints its table and its JSON lines, with numbers in them.
tiny=(--size tiny --tokens 256 --steps 1 --threads 1)

# numbers FILE KEY...: each line of JSON has these keys with positive numbers
numbers()
{
    python3 - "$@" <<'PYTHON' || fail "a key is missing or its number is not positive"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines
for line in lines:
    for key in sys.argv[2:]:
        value = line
        for part in key.split("."):
            value = value[part]
        assert isinstance(value, (int, float)) and value > 0, (line, key)
PYTHON
}

expect 0 "$FERRY" bench step "${tiny[@]}" --json
[ "$(wc -l <.out)" -eq 1 ] || fail "not one object"
numbers .out tokens_per_s gflops roof_gflops percent_of_roof peak_mib loss \
    phases.{step,data,forward,backward,update}
expect 0 "$FERRY" bench step "${tiny[@]}"
grep -qE '^step +tiny, 256 target tokens, 1 threads?: [0-9]+ tokens/s, .* % of the roof of' .out ||
    fail "no table of a step"

# every kernel of the list
expect 0 "$FERRY" bench kernels "${tiny[@]}" --json
numbers .out ms gb_per_s percent_of_roof
for kernel in $(sed -n 's/^    K(\([a-z_]*\),.*/\1/p' "$ROOT/src/device/kernels.h"); do
    grep -qE "\"name\":\"$kernel(_nn)?\"" .out || fail "no line for $kernel"
done
out_has '"roof":"products"'
out_has '"roof":"memory"'
expect 0 "$FERRY" bench kernels "${tiny[@]}"
grep -qE '^kernel +gemm_nt .* GB/s .* GFLOP/s .* % of products$' .out || fail "no table of kernels"

expect 0 "$FERRY" bench gemm "${tiny[@]}" --json
numbers .out m n k gflops roof_gflops percent_of_roof

# the roof has the vector extensions of the device, whatever the environment asks for (an
# OpenBLAS that chooses its kernels at start says which)
for kind in cpu-avx2:Haswell cpu-plain:Nehalem; do
    OPENBLAS_CORETYPE=Prescott OPENBLAS_VERBOSE=2 expect 0 "$FERRY" bench step "${tiny[@]}" --device "${kind%:*}"
    core=$(sed -n 's/^Core: //p' .err)
    case $(uname -m):$(grep -cw avx2 /proc/cpuinfo):$core in
    x86_64:[1-9]*:?*) [ "$core" = "${kind#*:}" ] || fail "${kind%:*}: the BLAS took $core" ;;
    esac
done
expect 0 "$FERRY" bench memory "${tiny[@]}" --json
numbers .out one_thread_gb_per_s gb_per_s

# every variant with every layer, all of the same bits
expect 0 "$FERRY" bench int8 --size tiny --json
tail -n 1 .out >bits.json
numbers bits.json variants equal_products
sed -i '$d' .out
numbers .out k n rows gops peak_gops percent_of_peak gflops peak_gflops float_percent_of_peak
for layer in q,k,v out ff1 ff2 logits; do
    out_has "\"variant\":\"plain\",\"layer\":\"$layer\""
done
expect 0 "$FERRY" bench int8 --size tiny
grep -qE '^int8 +plain +128 x 10000, rows +32 +int8 .* GOP/s .* fp32 .* GFLOP/s' .out ||
    fail "no table of products"
grep -qE '^int8 +[0-9]+ variants gave the same bits in [0-9]+ products$' .out ||
    fail "not compared"

# translation at a length that is fixed; alone, every time of a sentence is among the times
for mode in int8 fp32; do
    expect 0 "$FERRY" bench translate --size tiny --mode $mode --beam 4 --batch 1 --length 5 --threads 1 \
        --steps 3 --json
    numbers .out target_tokens_per_s best_target_tokens_per_s ms_per_sentence.{mean,p99} peak_mib
    out_has "\"mode\":\"$mode\""
    out_has '"times":48}' # of 16 sentences
    expect 0 "$FERRY" bench translate --size tiny --mode $mode --batch 8 --length 5 --steps 1 --json
    numbers .out target_tokens_per_s ms_per_sentence.mean
    out_lacks p99
done
expect 0 "$FERRY" bench translate --size tiny --batch 1 --length 5 --steps 1 --threads 1
grep -qE '^translate tiny .* [0-9.]+ ms a sentence \(p99 [0-9.]+\), peak [0-9]+ MiB$' .out ||
    fail "no line of translation"
refuses 2 'translation is measured on processors' "$FERRY" bench translate --device cuda

# a card is not measured against the processor
standin=$(dirname "$FERRY")/standin
if [ -e "$standin/libcuda.so.1" ]; then
    export LD_LIBRARY_PATH=$standin FERRY_CUDA_IMAGE=$standin
    card=(--size tiny --tokens 16 --mean 8 --steps 1 --device cuda)
    expect 0 "$FERRY" bench step "${card[@]}" --json
    numbers .out tokens_per_s gflops peak_mib
    out_lacks roof
    expect 0 "$FERRY" bench step "${card[@]}"
    out_lacks roof
    unset LD_LIBRARY_PATH FERRY_CUDA_IMAGE
fi

refuses 2 "unknown part 'steps'" "$FERRY" bench steps
refuses 2 'size' "$FERRY" bench step --size huge
refuses 2 'tokens' "$FERRY" bench step --tokens 1
refuses 2 'against=2: the device has 1 threads' "$FERRY" bench step "${tiny[@]}" --against 2
