# The front door: every target is a CMake preset or a script of tools/.
.PHONY: all demo test test-tsan test-arm64 test-faults test-interop test-online test-opencl check bench fuzz nvrtc clean

build = cmake --preset $(1) --log-level=WARNING && cmake --build --preset $(1)

all:
	@tools/install-deps build
	@$(call build,release)

demo: all
	@tools/demo

# Kernels for P100 and V100 too: NVRTC 12 into build/venv, where the build finds it.
nvrtc:
	@tools/install-deps build interop
	@[ -x build/venv/bin/python ] || python3 -m venv build/venv
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check nvidia-cuda-nvrtc-cu12
	@$(call build,release)

# Unit tests and fuzz inputs under ASan and UBSan, then everything in the release build.
test:
	@tools/install-deps build
	@tools/install-deps test gpu || echo "going on without it: tests of MPICH or OpenCL skip themselves"
	@echo "== building and testing with ASan and UBSan: build/dev"
	@$(call build,dev)
	@ctest --preset dev
	@echo "== building and testing the release: build/release"
	@$(call build,release)
	@ctest --preset release

test-tsan:
	@tools/install-deps build
	@$(call build,tsan)
	@ctest --preset tsan

# The unit tests on ARM64: cross-compiled, run under qemu.
test-arm64:
	@tools/install-deps build arm64
	@tools/test-arm64

# Every fault on hosts of namespaces, COUNT times each (10); needs root and most of an hour.
test-faults: all
	@tests/net/run tests/net/faults.bash build/release/ferry

# Real TensorFlow, TensorBoard, sacreBLEU and PyTorch read what we write.
test-interop: all
	@tools/install-deps interop
	@tests/interop/run build/release/ferry

# The demo on an OpenCL device, PoCL without a GPU, beside the CPU: some minutes.
test-opencl: all
	@tools/install-deps gpu
	@tests/cli/run tests/opencl/demo.sh build/release/ferry

# ferry fetch with a real mirror, then prepare and a short training: needs the network.
test-online: all
	@for script in tests/online/*.sh; do tests/cli/run $$script build/release/ferry || exit 1; done

check:
	@tools/install-deps build check
	@tools/check

# This machine, every kernel, a training step, and the same step in PyTorch and Marian.
bench: all
	@tools/install-deps interop
	@bench/run build/release/ferry

fuzz:
	@tools/install-deps build check
	@$(call build,fuzz)
	@tools/fuzz build/fuzz

clean:
	rm -rf build demo
