# The front door: every target is a CMake preset or a script of tools/.
.PHONY: all install uninstall deps built deb wheel demo test test-packages test-tsan test-arm64 test-faults test-interop test-mutations test-online test-opencl test-slurm check bench fuzz nvrtc clean

build = cmake --preset $(1) --log-level=WARNING && cmake --build --preset $(1)

PREFIX = /usr/local
DESTDIR =

# The program and its manual pages; a build directory that has tests keeps them. What is missing is
# named and not installed: `make deps` does that, and so do the targets below that test or show.
all:
	@tools/install-deps --say build
	@$(call build,release)

# Under PREFIX, or under DESTDIR/PREFIX for a package; docs/install.md.
install: all
	@tools/install "$(PREFIX)" "$(DESTDIR)"

uninstall:
	@tools/install --remove "$(PREFIX)" "$(DESTDIR)"

deps:
	@tools/install-deps build

built: deps
	@$(call build,release)

demo: built
	@tools/demo

# Packages for Debian into build/packages, checked by lintian.
deb:
	@tools/install-deps build packages
	@tools/make-deb

# A wheel for Python into build/packages: program, library and module.
wheel:
	@tools/install-deps build
	@tools/make-wheel

# The packages in an empty Debian, without network; MODEL=FILE is the demo's model, packed.
test-packages: built deb wheel
	@tools/test-packages $(MODEL)

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
test-faults: built
	@tools/install-deps test
	@cmake --preset release -DBUILD_TESTING=ON --log-level=WARNING
	@cmake --build --preset release --target net_tapdelay net_clock
	@tests/net/faults build/release/ferry

# docs/launch.md on a SLURM of its own, hosts of namespaces: srun, sbatch, scancel, requeue, a lost
# host. Needs root and some minutes.
test-slurm: built
	@[ "$$(id -u)" -eq 0 ] || { echo "skipped: hosts of namespaces need root"; exit 0; }; \
	tools/install-deps test slurm && { tests/net/run tests/net/slurm.bash build/release/ferry || [ $$? -eq 77 ]; }

# COUNT damaged files (5,000) of every format from SEED (1), read by the sanitizers' build: most of an hour.
test-mutations:
	@tools/install-deps build test
	@cmake --preset dev --log-level=WARNING && cmake --build --preset dev --target ferry
	@python3 tests/mutations/run.py build/dev/ferry $(or $(COUNT),5000) $(or $(SEED),1)

# Real TensorFlow, TensorBoard, sacreBLEU and PyTorch read what we write.
test-interop: built
	@tools/install-deps interop
	@tests/interop/run build/release/ferry

# The demo on an OpenCL device, PoCL without a GPU, beside the CPU: some minutes.
test-opencl: built
	@tools/install-deps peers
	@tests/cli/run tests/opencl/demo.sh build/release/ferry

# ferry fetch with a real mirror, then prepare and a short training: needs the network.
test-online: built
	@for script in tests/online/*.sh; do tests/cli/run $$script build/release/ferry || exit 1; done

check:
	@tools/install-deps build test check
	@tools/check

# This machine, every kernel, a training step, and the same step in PyTorch and Marian.
bench: built
	@tools/install-deps interop
	@bench/run build/release/ferry

fuzz:
	@tools/install-deps build test check
	@$(call build,fuzz)
	@tools/fuzz build/fuzz

clean:
	rm -rf build demo
