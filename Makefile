# statesampler.h needs no build: copy it. This Makefile builds the demo, the
# examples, the tests and the benchmarks, all under build/.

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
	@echo 'make test        run every test, one line each: about 10 minutes'
	@echo 'make mutants     check that the tests notice 900 faults put into'
	@echo '                 the header: 10 minutes (mutants-all: all faults, an'
	@echo '                 hour)'
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
	@echo 'make firmware    train on an emulated Cortex-M0, AVR and RISC-V,'
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
	@echo 'ONLY=pattern make test runs the matching tests, JOBS at a time; fuzz,'
	@echo 'prove and storm take ONLY too. CC and CFLAGS work as usual; the examples'
	@echo 'also compile as C++ (CC=g++).'

demo: build/train_text
	sh examples/demo.sh build/train_text $(FILES)

examples: $(patsubst examples/%.c,build/%,$(filter-out \
    $(if $(STB_FLAGS),,examples/grow.c),$(wildcard examples/*.c)))
	@$(if $(STB_FLAGS),:,echo 'skip grow: stb_ds.h is not here')

# The core's tests, with CC alone.
check:
	@CHECK=1 MAKEFLAGS= sh tests/run.sh

# make deps test runs deps first, also under -j.
test: | $(filter deps,$(MAKECMDGOALS))
	@MAKEFLAGS= sh tests/run.sh

# SEED and QUOTA choose the sample of generated faults that mutants runs.
mutants mutants-all: | $(filter deps test,$(MAKECMDGOALS))
	@if command -v python3 >/dev/null; then \
	    python3 tests/mutants.py $(filter all,$(subst -, ,$@)); \
	else echo 'skip mutants: python3 is not installed'; fi

# Every test under valgrind and the sanitizers that are too slow for make test.
sanitize:
	@[ -z "$$ONLY" ] || { \
	    echo 'sanitize does not take ONLY: it always runs all its tests'; \
	    exit 1; }
	@SANITIZE=1 ONLY='^test_.*: (clang-(memory|thread|implicit)|valgrind),' \
	    MAKEFLAGS= sh tests/run.sh

# Each harness runs SECONDS under each fuzzer; findings go to build/fuzz.
SECONDS ?= 60
fuzz: web
	@sh tests/fuzz/run.sh $(SECONDS)

# Compares the digest of CASES random cases, drawn from SEED, across every line
# of tests/ways.sh, WebAssembly and, if there is one, a GPU.
fuzz-agree:
	@for number in "$${CASES:-1}" "$${SEED:-1}"; do \
	    case $$number in *[!0-9]* | 0* | ??????????*) \
	        echo 'fuzz-agree: CASES and SEED are whole numbers above 0,' \
	            "of at most 9 digits, not $$number"; exit 1;; \
	    esac; \
	done
	@ONLY='^the checksum of every part|^CUDA: every function' \
	    CASES="$${CASES:-1000000}" SEED="$${SEED:-1}" MAKEFLAGS= \
	    sh tests/run.sh

# ONLY=pattern proves only what it matches.
prove: | $(filter deps-prove,$(MAKECMDGOALS))
	@sh tests/prove/prove.sh

complexity:
	@sh tests/complexity.sh
sizes:
	@sh tests/sizes.sh

bench:
	@MAKEFLAGS= sh bench/run.sh

# Copies the last make bench into bench/FIGURES.md, bench/plots and the README.
bench-figures:
	@sh bench/run.sh figures

gpu:
	@if [ -n "$(NVCC)" ]; then \
	    $(MAKE) --no-print-directory build/gpu && build/gpu; \
	else echo 'skip gpu: nvcc is not installed'; fi

# Kills and resumes a training: in plain PyTorch, then in each framework.
torch:
	@! python=$$(sh examples/python/tests/python.sh) || { \
	    $$python examples/python/train.py && \
	    CHAINS=3 $$python examples/python/tests/test_kills.py; }

torch-figures:
	@! python=$$(sh examples/python/tests/python.sh) || \
	    $$python examples/python/figures.py

# CUTS is the number of power cuts, BOARDS some of microbit, virt and avr.
CUTS ?= 20
BOARDS ?=
firmware:
	@sh examples/boards/run.sh build/firmware "$(CUTS)" $(BOARDS)
	@sh examples/boards/prices.sh $(BOARDS)

# The JavaScript module and the page, in build/web. One rule makes all of it, so
# that two tests that need it at the same time do not build it twice.
web packages release: export RELEASE := $(RELEASE)
web: build/web/made
	@[ ! -f build/web/index.html ] || echo 'open build/web/index.html in a' \
	    'browser; JavaScript imports build/web/statesampler.mjs'
build/web/made: $(wildcard examples/js/*.* examples/js/page/*) \
    tests/vectors.json statesampler.h LICENSE build/web/release
	@sh examples/js/build.sh
# The address that the page was built with; another one builds it anew.
build/web/release: always
	@mkdir -p build/web; echo "$$RELEASE" | cmp -s - $@ || \
	    echo "$$RELEASE" >$@
always:

web-test:
	@ONLY='JavaScript|The page' $(MAKE) --no-print-directory test

# The time of an index in JavaScript, compared with a table's.
web-speed: web
	@command -v node >/dev/null || { \
	    echo 'skip web-speed: node is not installed'; exit 0; }; \
	    [ -f build/web/index.html ] || exit 0; \
	    node --no-liftoff bench/web.mjs

# Screenshots of the page, and the one that examples/README.md shows.
web-shots: web
	@for tool in node chromium; do command -v $$tool >/dev/null || { \
	    echo "skip web-shots: $$tool is not installed"; exit 0; }; done; \
	    [ -f build/web/index.html ] || exit 0; mkdir -p build/web/shots && \
	    node examples/js/tests/shots.mjs build/web/shots && \
	    { ! command -v optipng >/dev/null || \
	    optipng -quiet build/web/shots/light.png; } && \
	    cp build/web/shots/light.png examples/js/page/page.png

# The data-parallel trainer of examples/trainer. Flags must not reorder floating
# point or contract a * b + c, as the bits would then depend on the flags.
MPICC ?= mpicc
TRAINER_CFLAGS ?= -O3 -march=native
TRAINER_FLAGS = -std=c99 $(TRAINER_CFLAGS) -ffp-contract=off -fno-math-errno \
    -fno-trapping-math -I. \
    $(shell pkg-config --cflags openblas yaml-0.1 2>/dev/null)
TRAINER_LIBS = $(shell pkg-config --libs openblas yaml-0.1 2>/dev/null) -lm
TRAINER_OBJECTS = $(patsubst examples/trainer/%.c,build/trainer/%.o,\
    $(wildcard examples/trainer/*.c))
trainer:
	@! sh examples/trainer/here.sh $(MPICC) || \
	    $(MAKE) --no-print-directory build/trainer/trainer
trainer-demo:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory build/trainer/trainer && \
	    sh examples/trainer/demo.sh; }
trainer-figures: trainer-demo
	cp build/trainer/demo/loss.svg build/trainer/demo/memory.svg \
	    examples/trainer
trainer-mutants:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory -s build/trainer/trainer && \
	    sh examples/trainer/tests/mutants.sh; }
trainer-long:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory -s build/trainer/trainer && \
	    LONG=1 KILLS=$(or $(KILLS),200) sh examples/trainer/tests/runs.sh \
	    build/trainer/trainer examples/trainer/tests/small.yaml processes memory \
	    sharded sharded_o1 ways ways_o1 elsewhere kills; }
trainer-bench:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory build/trainer/trainer \
	        build/trainer/test/bench build/trainer/test/bigram && \
	    sh examples/trainer/tests/bench.sh | tee build/trainer/bench && \
	    ! grep -q MISSED build/trainer/bench; }
build/trainer/trainer: $(TRAINER_OBJECTS)
	$(MPICC) $(LDFLAGS) -o $@ $(TRAINER_OBJECTS) $(TRAINER_LIBS)
# The sampler takes less than a thousandth of a step: -O1 compiles faster.
build/trainer/sampler.o: TRAINER_CFLAGS += -O1
build/trainer/%.o: examples/trainer/%.c $(wildcard examples/trainer/*.h) \
    statesampler.h
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -c -o $@ $<

# build/trainer/test/NAME is examples/trainer/tests/test_NAME.c with the trainer except
# its main. `gradients` is test_model.c compiled to compute in double.
GRADIENTS_OBJECTS = $(patsubst %,build/trainer/%.o,agree memory sampler text)
build/trainer/test/gradients: examples/trainer/tests/test_model.c \
    $(GRADIENTS_OBJECTS) $(wildcard examples/trainer/*.[ch])
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -DTRAINER_DOUBLE -Iexamples/trainer -o $@ $< \
	    $(patsubst %,examples/trainer/%.c,kernels model) \
	    $(GRADIENTS_OBJECTS) $(TRAINER_LIBS)
# This one needs the configuration only. STRICT holds the warning flags.
build/trainer/test/config_test: $(wildcard examples/trainer/tests/*_test.[ch] \
    examples/trainer/tests/config_texts.h examples/trainer/config*.[ch])
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c99 $(STRICT) -o $@ $(filter %.c,$^) \
	    $(shell pkg-config --cflags --libs yaml-0.1) -lm
build/trainer/test/%: examples/trainer/tests/test_%.c $(TRAINER_OBJECTS)
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -Iexamples/trainer -o $@ $< \
	    $(filter-out build/trainer/main.o,$(TRAINER_OBJECTS)) $(TRAINER_LIBS)

# Every call of a save, and COUNT of those of the trainer's checkpoints.
crash: build/fuzz/crash_save
	@command -v python3 >/dev/null || { \
	    echo 'skip crash: python3 is not installed'; exit 0; }; \
	    missing=$$(python3 tests/fuzz/crash.py missing) || exit; \
	    [ -z "$$missing" ] || { \
	    echo "skip crash: $$missing is not installed"; exit 0; }; \
	    python3 tests/fuzz/crash.py save $< || exit; \
	    ! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory -s build/trainer/trainer && \
	    python3 tests/fuzz/crash.py trainer build/trainer/trainer; }
build/fuzz/crash_%: tests/fuzz/crash_save.c statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -DSTATESAMPLER_IMPLEMENTATION \
	    $(if $(filter control,$*),-DCRASH_BROKEN) -I. $(LDFLAGS) -o $@ $<

# The largest sizes; takes a minute.
scale: build/fuzz/scale
	build/fuzz/scale
build/fuzz/scale: tests/fuzz/scale.c statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -O3 -I. $(LDFLAGS) -o $@ $<

# RUNS kills of whole runs, of every kind whose tools are installed, or of those
# that ONLY matches.
RUNS ?= 1000
storm: build/train_text web
	@if sh examples/trainer/here.sh $(MPICC); then \
	    $(MAKE) --no-print-directory -s build/trainer/trainer; fi
	@command -v python3 >/dev/null || { \
	    echo 'skip storm: python3 is not installed'; exit 0; }; \
	    TORCH_PYTHON=$$(sh examples/python/tests/python.sh) \
	    python3 tests/fuzz/storm.py $(RUNS) $(SEED)

clean:
	rm -rf build

# The header and statesampler.pc. Nothing is compiled, nothing goes to build/.
PREFIX ?= /usr/local
INCLUDEDIR ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(PREFIX)/share/pkgconfig
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export INCLUDEDIR := $(INCLUDEDIR)
install uninstall: export PKGCONFIGDIR := $(PKGCONFIGDIR)
install uninstall: export DESTDIR := $(DESTDIR)
install uninstall:
	@sh examples/packaging/unix/install.sh $@

# All that people install, in build/packages. RELEASE is the address of the
# folder that the archive will be downloaded from.
packages:
	@sh examples/packaging/make.sh
release:
	@sh examples/packaging/release.sh

# The long statistical tests of the permutation; make test runs the short ones.
quality: build/quality/quality
	build/quality/quality long build/quality
	build/quality/quality selftest 0.25 3
	sh tests/quality/dieharder.sh build/quality/quality build/quality 600

quality-rounds: build/quality/quality
	build/quality/quality rounds build/quality

# Renamed into place, as two tests may build it at the same time.
build/quality/quality: $(wildcard tests/quality/*.[ch]) statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -O3 -I. $(LDFLAGS) -o $@.$$$$ \
	    tests/quality/*.c -lm && mv $@.$$$$ $@

# The test vectors, from an independent program. If it fails, the file stays.
vectors:
	@mkdir -p build
	python3 tests/reference.py >build/vectors.json
	cp build/vectors.json tests/vectors.json

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

# A picture of examples/README.md, from what its program prints. Drawn under
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

# build/test/WAY/NAME is tests/NAME.c compiled as the line WAY of tests/ways.sh
# says, and linked with build/test/WAY/core.o.
.PRECIOUS: build/test/%/core.o
build/test/%/core.o: tests/core.c statesampler.h tests/ways.sh
	@mkdir -p $(@D)
	@sh tests/ways.sh $* $< $@
.SECONDEXPANSION:
build/test/%: tests/$$(basename $$(*F)).c $$(@D)/core.o \
    $(wildcard tests/*.h examples/extras/*.h)
	@mkdir -p $(@D)
	@sh tests/ways.sh $(*D) $< $@

# What deps installs, for tests/questions.
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
	@sh examples/js/tests/deps.sh
deps-npm:
	@sh examples/js/tests/deps.sh

# What make prove also needs; large because of OCaml.
deps-prove:
	@sh tests/deps.sh z3 why3 frama-c-base python3

.PHONY: help demo examples check test mutants mutants-all fuzz fuzz-agree \
    crash storm scale sanitize prove deps-prove complexity sizes bench \
    bench-figures quality quality-rounds vectors gpu torch torch-figures \
    firmware web web-test web-speed web-shots trainer trainer-demo \
    trainer-figures trainer-mutants trainer-bench trainer-long clean deps \
    deps-npm install uninstall packages release always
