# The front door: every target is a CMake preset or a script of tools/.
.PHONY: all demo test test-tsan test-arm64 test-faults test-interop test-mutations test-online test-opencl test-slurm check bench fuzz nvrtc clean

build = cmake --preset $(1) --log-level=WARNING && cmake --build --preset $(1)

# The program alone; a build directory that has tests keeps them.
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
	@tools/install-deps build test
	@tools/install-deps peers || echo "continuing without them: tests of MPICH or OpenCL are skipped"
	@tools/test

test-tsan:
	@tools/install-deps build test
	@$(call build,tsan)
	@ctest --preset tsan

# The unit tests on ARM64: cross-compiled, run under qemu.
test-arm64:
	@tools/install-deps build test arm64
	@tools/test-arm64

# Faults on three hosts of namespaces, COUNT times each (10); needs root and an hour.
test-faults: all
	@tools/install-deps test
	@cmake --preset release -DBUILD_TESTING=ON --log-level=WARNING
	@cmake --build --preset release --target net_tapdelay net_clock
	@tests/net/faults build/release/ferry

# docs/launch.md on a SLURM of its own, hosts of namespaces: srun, sbatch, scancel, requeue, a lost
# host. Needs root and some minutes.
test-slurm: all
	@[ "$$(id -u)" -eq 0 ] || { echo "skipped: hosts of namespaces need root"; exit 0; }; \
	tools/install-deps test slurm && { tests/net/run tests/net/slurm.bash build/release/ferry || [ $$? -eq 77 ]; }

# COUNT damaged files (5,000) of every format from SEED (1), read by the sanitizers' build: most of an hour.
test-mutations:
	@tools/install-deps build test
	@cmake --preset dev --log-level=WARNING && cmake --build --preset dev --target ferry
	@python3 tests/mutations/run.py build/dev/ferry $(or $(COUNT),5000) $(or $(SEED),1)

# Real TensorFlow, TensorBoard, sacreBLEU and PyTorch read what we write.
test-interop: all
	@tools/install-deps interop
	@tests/interop/run build/release/ferry

# The demo on an OpenCL device, PoCL without a GPU, beside the CPU: some minutes.
test-opencl: all
	@tools/install-deps peers
	@tests/cli/run tests/opencl/demo.sh build/release/ferry

# ferry fetch with a real mirror, then prepare and a short training: needs the network.
test-online: all
	@for script in tests/online/*.sh; do tests/cli/run $$script build/release/ferry || exit 1; done

check:
	@tools/install-deps build test check
	@tools/check

# This machine, every kernel, a training step, and the same step in PyTorch and Marian.
bench: all
	@tools/install-deps interop
	@bench/run build/release/ferry

fuzz:
	@tools/install-deps build test check
	@$(call build,fuzz)
	@tools/fuzz build/fuzz

clean:
	rm -rf build demo
