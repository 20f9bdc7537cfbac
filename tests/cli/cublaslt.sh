# Of two versions of cuBLASLt the program opens the one that takes the card: 13, or 12 for
# cards older than sm_75. The other one here is no cuBLASLt at all.
standin=$(dirname "$FERRY")/standin
if [ ! -e "$standin/libcublasLt.so.13" ]; then
    skip "no stand-ins for NVIDIA's libraries in $standin"
fi
export FERRY_CUDA_IMAGE=$standin

for version in 12 13; do
    mkdir -p "only$version" "with$version"
    ln -s "$standin"/libcuda.so.1 "only$version"
    ln -s "$standin"/libcuda.so.1 "with$version"
    ln -s "$standin"/libcublasLt.so.13 "only$version/libcublasLt.so.$version"
    ln -s "$standin"/libcublasLt.so.13 "with$version/libcublasLt.so.$version"
    ln -s "$standin"/libcuda.so.1 "with$version/libcublasLt.so.$((25 - version))"
done

# found SM DIRECTORY: a card of that kind, and cuBLASLt
found()
{
    FERRY_STANDIN_SM=$1 LD_LIBRARY_PATH=$WORK/$2 expect 0 "$FERRY" doctor --device cpu
}
found 70 with12
out_has 'stand-in, sm_70'
found 70 with13
out_has 'libcublasLt.so.12 lacks'
found 75 with13
out_has 'stand-in, sm_75'
found 75 with12
out_has 'libcublasLt.so.13 lacks'
# a version alone is taken as it is
found 70 only13
out_has 'stand-in, sm_70'
found 75 only12
out_has 'stand-in, sm_75'
