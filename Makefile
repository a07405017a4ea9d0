# statesampler.h needs no build: copy it. This Makefile builds the demo, the
# examples, the tests and the benchmarks, all under build/. Each product has its
# own in its folder of examples, and tests/ has one: this hands down to them.

CFLAGS ?= -O2
FILES ?=
# Two more than there are processors: tests that kill processes mostly wait.
JOBS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 2)))

# Where stb_ds.h is, which some tests and examples use: STB=folder, or what
# pkg-config says.
STB_FLAGS ?= $(patsubst -I%,-isystem%,$(if $(STB),-I$(STB),\
    $(shell pkg-config --cflags stb 2>/dev/null)))
# nvcc may be installed without being on the path. It calls g++.
NVCC ?= $(if $(shell command -v g++),$(firstword $(shell command -v nvcc) \
    $(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc)))
# Python would write __pycache__ into the source tree.
PYTHONDONTWRITEBYTECODE = 1
export CC CFLAGS JOBS STB_FLAGS NVCC PYTHONDONTWRITEBYTECODE

help:
	@echo 'make demo        train, kill, resume on another number of ranks, and'
	@echo '                 compare: C only, about a minute'
	@echo 'make check       the core tests, with a C compiler alone: a minute'
	@echo 'make deps        install what the tests need: packages of Debian, and'
	@echo '                 of npm in build/npm: 1.6 GB to download, 7.3 GB on'
	@echo '                 disk (deps-npm: those of npm alone)'
	@echo 'make test        run every test, by CTest: about 10 minutes'
	@echo 'make mutants     check that the tests notice 98 % of 470 faults put'
	@echo '                 into the header: 5 minutes (mutants-all: all faults,'
	@echo '                 an hour; torch-mutants: of faults in the Python'
	@echo '                 package, print those that the tests do not notice)'
	@echo 'make fuzz        fuzz the header and the trainer, SECONDS=60 per'
	@echo '                 harness: 15 minutes (fuzz-agree: compare all'
	@echo '                 compilers on random cases)'
	@echo 'make examples    build the examples: build/quickstart, build/resume'
	@echo '                 and so on'
	@echo 'make prove       prove properties for all inputs: a few minutes (first'
	@echo '                 make deps-prove: 219 MB to download, 922 MB on disk)'
	@echo 'make complexity  complex and long functions, with their limits; calls,'
	@echo '                 lines and names'
	@echo 'make sizes       code and stack sizes, with their limits'
	@echo 'make quality     the long statistical tests of the permutation'
	@echo 'make quality-rounds  how many rounds each range of n needs'
	@echo 'make vectors     regenerate tests/vectors.json with reference.py'
	@echo 'make bench       measure speed, memory and resumes: tables, plots'
	@echo 'make boards      train on an emulated Cortex-M0, AVR and RISC-V,'
	@echo '                 through power cuts: three minutes'
	@echo 'make web         build the JavaScript module and the page in build/web;'
	@echo '                 RELEASE=https://... is the address that the page names'
	@echo '                 (web-test, web-speed, web-shots: 2 minutes each)'
	@echo 'make torch       PyTorch samplers: train, kill, resume'
	@echo 'make gpu         check and time the header on a GPU, with CUDA'
	@echo 'make trainer     build the data-parallel trainer, with MPI'
	@echo 'make trainer-demo  run it on four processes, kill one, resume on'
	@echo '                 three: a minute'
	@echo 'make crash       fail, kill and cut the power at each system call of a'
	@echo '                 save, and at COUNT (200) of those of a checkpoint'
	@echo 'make storm       RUNS (1000) kills at random moments: the demo, the'
	@echo '                 trainer, PyTorch, the page'
	@echo 'make scale       a million ranks, 2^33 samples, 100,000 datasets'
	@echo 'make sanitize    run the tests under more sanitizers and valgrind'
	@echo 'make install     copy the header and statesampler.pc to PREFIX'
	@echo '                 (/usr/local), INCLUDEDIR, PKGCONFIGDIR, DESTDIR;'
	@echo '                 make uninstall removes them'
	@echo 'make packages    all that people install, in build/packages'
	@echo 'make release     check what is to be released, and say the next steps'
	@echo 'make clean       remove build/'
	@echo 'Times are for two cores. FILES="a b" make demo trains on these files.'
	@echo 'ONLY=pattern make test runs the matching tests, JOBS at a time; make'
	@echo 'fuzz, prove and storm take ONLY too. A folder of examples with a'
	@echo 'Makefile is a product of its own: make -C examples/js test. CC and'
	@echo 'CFLAGS work as usual; the examples also compile as C++ (CC=g++).'

demo: build/train_text
	sh examples/demo.sh build/train_text $(FILES)

examples: $(patsubst examples/%.c,build/%,$(filter-out \
    $(if $(STB_FLAGS),,examples/grow.c),$(wildcard examples/*.c)))
	@$(if $(STB_FLAGS),:,echo 'skip grow: stb_ds.h is not here')

# What CC alone can test of the header.
check:
	@MAKEFLAGS= sh tests/check.sh

# Everything: make deps test runs deps first, also under -j.
test: | $(filter deps,$(MAKECMDGOALS))
	@MAKEFLAGS= sh tests/run.sh

bench:
	@MAKEFLAGS= sh bench/run.sh

# Copies the last make bench into bench/FIGURES.md, bench/plots and the README.
bench-figures:
	@sh bench/run.sh figures

gpu:
	@if [ -n "$(NVCC)" ]; then \
	    $(MAKE) --no-print-directory build/gpu && build/gpu; \
	else echo 'skip gpu: nvcc is not installed'; fi

clean:
	rm -rf build

# --- What other Makefiles have ------------------------------------------------

DOWN = $(MAKE) --no-print-directory -C

mutants mutants-all sanitize fuzz fuzz-agree prove deps-prove complexity sizes \
crash scale storm quality quality-rounds vectors: \
    | $(filter deps deps-prove test,$(MAKECMDGOALS))
	@$(DOWN) tests $@
build/test/% build/fuzz/% build/quality/%: always
	@$(DOWN) tests ../$@

web trainer:
	@$(DOWN) examples/$(if $(filter web,$@),js,trainer)
web-% build/web/%: always
	@$(DOWN) examples/js $(if $(filter build/%,$@),../../$@,$*)
trainer-% build/trainer/%: always
	@$(DOWN) examples/trainer $(if $(filter build/%,$@),../../$@,$*)
torch:
	@$(DOWN) examples/python train
torch-%: always
	@$(DOWN) examples/python $*
boards:
	@$(DOWN) examples/boards run
packages release install uninstall:
	@$(DOWN) examples/packaging $@

# --- Examples -----------------------------------------------------------------

# The examples are C99 and, for a CC that is a C++ compiler, C++.
STANDARD = $(if $(findstring ++,$(CC)),,-std=c99)
LANGUAGE = $(if $(findstring ++,$(CC)),-x c++)

# Renamed into place, as another test may run or build it at the same time.
build/%: examples/%.c statesampler.h \
    $(wildcard examples/*.h examples/extras/*.h)
	@mkdir -p $(@D)
	$(CC) $(STANDARD) $(CFLAGS) -I. $(STB_FLAGS) $(LDFLAGS) -o $@.$$$$ \
	    $(LANGUAGE) $< -lm -pthread && mv $@.$$$$ $@

# Words of six languages, 65,536 of each, from Debian's packages wamerican,
# wdutch, wfrench, witalian, wngerman and wspanish.
WORDS = american-english dutch french italian ngerman spanish
examples/windows.svg: build/windows examples/windows.gp
	@mkdir -p build/words
	@for name in $(WORDS); do words=/usr/share/dict/$$name; \
	    [ -e $$words ] || { echo "$$words is not here: see the Makefile for" \
	        "Debian's packages"; exit 1; }; \
	    awk -v n=$$(wc -l <$$words) 'int(NR * 65536 / n) > \
	        int((NR - 1) * 65536 / n)' $$words >build/words/$$name; \
	done
	cd build/words && ../windows $(WORDS) >../windows.table
	@cat build/windows.table
	gnuplot -e "table='build/windows.table'" examples/windows.gp \
	    >build/windows.svg && cp build/windows.svg $@

# A picture beside an example, from what its program prints. Drawn under
# build/ first: without gnuplot the picture that is there must stay.
examples/%.svg: build/% examples/%.gp
	$< >$<.table && gnuplot -e "table='$<.table'" examples/$*.gp >$<.svg && \
	    cp $<.svg $@

examples/turns.svg: build/turns
	$< >$<.svg && cp $<.svg $@

# For this machine's GPU; without one, for any since Turing.
GPU_FLAGS ?= -O3 -arch=$(if $(wildcard /dev/nvidia0),native,sm_75) \
    -Xcompiler=-fopenmp
build/gpu: bench/gpu.cu statesampler.h
	@mkdir -p $(@D)
	$(NVCC) $(GPU_FLAGS) '-DGPU_FLAGS="$(GPU_FLAGS)"' -I. -o $@ $<

# --- Tools --------------------------------------------------------------------

# What deps installs, for the tests.
PACKAGES = g++ clang lld libclang-rt-dev tcc nodejs npm node-typescript \
    chromium chromium-sandbox binaryen esbuild \
    qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
    gcc-s390x-linux-gnu libc6-dev-s390x-cross \
    gcc-i686-linux-gnu libc6-dev-i386-cross \
    gcc-mips-linux-gnu libc6-dev-mips-cross \
    gcc-m68k-linux-gnu libc6-dev-m68k-cross \
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross musl-tools \
    gcc-arm-none-eabi qemu-system-arm gcc-avr avr-libc arduino-core-avr \
    libsimavr-dev python3-yaml \
    gcc-riscv64-unknown-elf qemu-system-misc \
    gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine wine64 \
    cmake ninja-build meson \
    pkg-config libstb-dev python3 python3-numpy gnuplot-nox python3-torch \
    python3-build python3-pip python3-setuptools python3-venv python3-wheel \
    python3-wheel-whl mypy \
    dieharder pmccabe afl++ strace valgrind \
    libopenmpi-dev openmpi-bin libopenblas-dev libyaml-dev procps \
    luajit mono-mcs mono-runtime rustc golang-go \
    libfann-dev libtorch-dev libfaiss-dev \
    wamerican wdutch wfrench witalian wngerman wspanish

deps:
	@sh tests/deps.sh $(PACKAGES)
	@$(DOWN) examples/js deps
deps-npm:
	@$(DOWN) examples/js deps

always:

.PHONY: help demo examples check test bench bench-figures gpu clean mutants \
    mutants-all sanitize fuzz fuzz-agree prove deps-prove complexity sizes \
    crash scale storm quality quality-rounds vectors web trainer torch boards \
    packages release install uninstall deps deps-npm always
