# statesampler.h needs no building: copy it. This file builds the demo, the
# examples, the tests and the bench around it, all of them under build/.

CFLAGS ?= -O2
FILES ?=
# Two more than processors, as questions about processes that are killed wait.
JOBS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 2)))

# stb_ds.h, which some tests and examples use: STB=folder, or pkg-config's.
STB_FLAGS ?= $(patsubst -I%,-isystem%,$(if $(STB),-I$(STB),\
    $(shell pkg-config --cflags stb 2>/dev/null)))
# nvcc, also where CUDA is installed but not on the path.
NVCC ?= $(firstword $(shell command -v nvcc) \
    $(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc))
export CC CFLAGS JOBS STB_FLAGS NVCC

help:
	@echo 'make demo        train, kill, resume on other ranks, compare: C only,'
	@echo '                 about a minute'
	@echo 'make deps        install what the tests need: Debian packages,'
	@echo '                 1.1 GB to fetch, 5.3 GB on disk'
	@echo 'make test        ask every question, one line each: about 10 minutes'
	@echo 'make mutants     break the header in 1,300 ways, the tests must'
	@echo '                 notice: 10 minutes (mutants-all: every way, an hour)'
	@echo 'make fuzz        fuzz the header and the trainer, SECONDS=60 for each'
	@echo '                 harness: 15 minutes (fuzz-agree: every compiler on'
	@echo '                 drawn cases)'
	@echo 'make examples    build/quickstart, build/indices and the others'
	@echo 'make prove       what is proved for all inputs: some minutes (after'
	@echo '                 make deps-prove: 219 MB to fetch, 922 MB on disk)'
	@echo 'make judge       every answer in a million random programs, against'
	@echo '                 version 0.4.0: two minutes'
	@echo 'make complexity  the winding and the long functions of the header'
	@echo 'make sizes       code and stack, with their limits'
	@echo 'make quality     the statistics of the permutation, at length'
	@echo 'make quality-rounds  how many rounds each range of n needs'
	@echo 'make vectors     write tests/vectors.json anew, by reference.py'
	@echo 'make bench       speed, memory and resume, measured: tables, plots'
	@echo 'make firmware    learn on a Cortex-M0, an AVR and a RISC-V core, in'
	@echo '                 emulators, through power cuts: three minutes'
	@echo 'make web         build/web: the header in JavaScript, and a page'
	@echo '                 (web-test, web-speed, web-shots: 2 minutes each)'
	@echo 'make torch       the samplers for PyTorch: train, kill, resume'
	@echo 'make gpu         the same on a GPU, with CUDA, against a memset'
	@echo 'make trainer     build the data-parallel trainer, with MPI'
	@echo 'make trainer-demo  four processes, one killed, on with three: a'
	@echo '                 minute'
	@echo 'make crash       fail, kill and cut the power at each system call of a'
	@echo '                 save, and at COUNT (200) of a checkpoint'
	@echo 'make storm       RUNS (1000) kills at random moments: the demo, the'
	@echo '                 trainer, PyTorch, the page'
	@echo 'make scale       a million ranks, 2^33 samples, 100,000 datasets'
	@echo 'make sanitize    the tests by more sanitizers, and by valgrind'
	@echo 'make clean       remove build/'
	@echo 'Times are those of two cores. FILES="a b" make demo trains on these'
	@echo 'files; ONLY=pattern make test asks what it matches, JOBS at a time,'
	@echo 'and fuzz, prove and storm know ONLY, too; CC and CFLAGS as usual.'

demo: build/train_text
	sh examples/demo.sh build/train_text $(FILES)

examples: $(patsubst examples/%.c,build/%,$(filter-out \
    $(if $(STB_FLAGS),,examples/grow.c),$(wildcard examples/*.c)))

# After deps, where both are asked for, also under make -j.
test: | $(filter deps,$(MAKECMDGOALS))
	@MAKEFLAGS= sh tests/run.sh

# SEED and QUOTA say which generated faults the sample of the first one has.
mutants mutants-all: | $(filter deps test,$(MAKECMDGOALS))
	@if command -v python3 >/dev/null; then \
	    python3 tests/mutants.py $(filter all,$(subst -, ,$@)); \
	else echo 'skip mutants: python3 is not here'; fi

# Every test by the sanitizers that make test has no time for, and valgrind.
sanitize:
	@[ -z "$$ONLY" ] || { \
	    echo 'sanitize: all of it is asked: ONLY names parts of make test'; \
	    exit 1; }
	@SANITIZE=1 ONLY='^test_.*: (clang-(memory|thread|implicit)|valgrind),' \
	    MAKEFLAGS= sh tests/run.sh

# Each harness for so long, under each fuzzer; what it finds is in build/fuzz.
SECONDS ?= 60
fuzz: web
	@sh tests/fuzz/run.sh $(SECONDS)

# The digest of so many cases, drawn from SEED, from every line of tests/ways.sh
# and from WebAssembly; and as many from a GPU, where there is one.
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

# ONLY=pattern proves what it matches.
prove: | $(filter deps-prove,$(MAKECMDGOALS))
	@sh tests/prove/prove.sh

# Every answer of the header against 0.4.0's, in PROGRAMS random programs from
# number FIRST on. 0.4.0 is a text of the history, here under another name.
PROGRAMS ?= 1000000
FIRST ?= 1
OLD = 144b8db26bc75b8c3f7e6f3806a9a528c40cd62a
judge:
	@if $(MAKE) -s build/oldsampler.h 2>/dev/null; then \
	    $(MAKE) --no-print-directory -s build/judge && \
	    build/judge $(PROGRAMS) $(FIRST); \
	else echo "skip judge: 0.4.0's text is not here"; fi
build/judge: tests/judge.c tests/judge.h tests/judge_side.h build/oldsampler.h \
    statesampler.h
	$(CC) -std=c99 $(CFLAGS) $(if $(STB_FLAGS),-DJUDGE_STB) -Ibuild -I. \
	    $(STB_FLAGS) $(LDFLAGS) -o $@.$$$$ $< && mv $@.$$$$ $@
build/oldsampler.h:
	@mkdir -p $(@D)
	@git show $(OLD):statesampler.h >$@.$$$$ && \
	    sed -e 's/statesampler/oldsampler/g' \
	        -e 's/STATESAMPLER/OLDSAMPLER/g' $@.$$$$ >$@.new.$$$$ && \
	    rm $@.$$$$ && mv $@.new.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

complexity:
	@sh tests/complexity.sh
sizes:
	@sh tests/sizes.sh

bench:
	@MAKEFLAGS= sh bench/run.sh

# The last make bench, into bench/FIGURES.md, bench/plots and the README.
bench-figures:
	@sh bench/run.sh figures

gpu:
	@if [ -n "$(NVCC)" ]; then \
	    $(MAKE) --no-print-directory build/gpu && build/gpu; \
	else echo 'skip gpu: nvcc is not here'; fi

# Killed and resumed, by itself and in each framework.
torch:
	@! python=$$(sh tests/torch/python.sh) || { \
	    $$python examples/torch/train.py && \
	    CHAINS=3 $$python tests/torch/test_kills.py; }

torch-figures:
	@! python=$$(sh tests/torch/python.sh) || \
	    $$python examples/torch/figures.py

# CUTS=number of power cuts, BOARDS of microbit, virt and avr.
CUTS ?= 20
BOARDS ?=
firmware:
	@sh examples/firmware/run.sh build/firmware "$(CUTS)" $(BOARDS)
	@sh examples/firmware/prices.sh $(BOARDS)

# The header in JavaScript and the page, under build/web. All of it is made at
# once, and by one make only when two questions of make test want it.
web: build/web/made
build/web/made: $(wildcard examples/web/*.*) tests/vectors.json statesampler.h
	@sh examples/web/build.sh

web-test:
	@ONLY='JavaScript|The page' $(MAKE) --no-print-directory test

# An index in JavaScript, beside a table's.
web-speed: web
	@command -v node >/dev/null || { echo 'skip web-speed: node is not here'; \
	    exit 0; }; [ -f build/web/index.html ] || exit 0; \
	    node --no-liftoff bench/web.mjs

# Pictures of the page, to be looked at, and the one of examples/README.md.
web-shots: web
	@for tool in node chromium; do command -v $$tool >/dev/null || { \
	    echo "skip web-shots: $$tool is not here"; exit 0; }; done; \
	    [ -f build/web/index.html ] || exit 0; mkdir -p build/web/shots && \
	    node tests/web/shots.mjs build/web/shots && \
	    cp build/web/shots/light.png examples/web/page.png

# The data-parallel trainer of examples/trainer. No flag may reorder floating
# point; multiplying and adding in one would change bits by flags.
MPICC ?= mpicc
TRAINER_CFLAGS ?= -O3 -march=native
TRAINER_FLAGS = -std=c99 $(TRAINER_CFLAGS) -ffp-contract=off -fno-math-errno \
    -fno-trapping-math -I. $(STB_FLAGS) \
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
	    sh tests/trainer/mutants.sh; }
trainer-long:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory -s build/trainer/trainer && \
	    LONG=1 KILLS=$(or $(KILLS),200) sh tests/trainer/runs.sh \
	    build/trainer/trainer tests/trainer/small.yaml processes memory \
	    sharded sharded_o1 ways ways_o1 elsewhere kills; }
trainer-bench:
	@! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory build/trainer/trainer \
	        build/trainer/test/bench build/trainer/test/bigram && \
	    sh tests/trainer/bench.sh; }
build/trainer/trainer: $(TRAINER_OBJECTS)
	$(MPICC) $(LDFLAGS) -o $@ $(TRAINER_OBJECTS) $(TRAINER_LIBS)
# The sampler is less than a thousandth of a step: -O3 would only take longer.
build/trainer/sampler.o: TRAINER_CFLAGS += -O1
build/trainer/%.o: examples/trainer/%.c $(wildcard examples/trainer/*.h) \
    statesampler.h
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -c -o $@ $<

# build/trainer/test/NAME is tests/trainer/test_NAME.c with all of the trainer
# but its main; the one of `gradients` computes in double.
GRADIENTS_OBJECTS = $(patsubst %,build/trainer/%.o,agree memory sampler stb text)
build/trainer/test/gradients: tests/trainer/test_model.c \
    $(GRADIENTS_OBJECTS) $(wildcard examples/trainer/*.[ch])
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -DTRAINER_DOUBLE -Iexamples/trainer -o $@ $< \
	    $(patsubst %,examples/trainer/%.c,kernels model model_blocks) \
	    $(GRADIENTS_OBJECTS) $(TRAINER_LIBS)
# One more, of the configuration alone; STRICT has the warnings to ask for.
build/trainer/test/config_test: $(wildcard tests/trainer/*_test.[ch] \
    tests/trainer/config_texts.h \
    examples/trainer/config*.[ch] examples/trainer/schedule.[ch]) \
    examples/trainer/stb.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c99 $(STRICT) $(STB_FLAGS) -o $@ $(filter %.c,$^) \
	    $(shell pkg-config --cflags --libs yaml-0.1) -lm
build/trainer/test/%: tests/trainer/test_%.c $(TRAINER_OBJECTS)
	@mkdir -p $(@D)
	$(MPICC) $(TRAINER_FLAGS) -Iexamples/trainer -o $@ $< \
	    $(filter-out build/trainer/main.o,$(TRAINER_OBJECTS)) $(TRAINER_LIBS)

# A save, and COUNT of the calls and the power cuts of the trainer's
# checkpoints.
crash: build/fuzz/crash_save
	@command -v python3 >/dev/null || { \
	    echo 'skip crash: python3 is not here'; exit 0; }; \
	    missing=$$(python3 tests/fuzz/crash.py missing) || exit; \
	    [ -z "$$missing" ] || { \
	    echo "skip crash: $$missing is not here"; exit 0; }; \
	    python3 tests/fuzz/crash.py save $< || exit; \
	    ! sh examples/trainer/here.sh $(MPICC) || { \
	    $(MAKE) --no-print-directory -s build/trainer/trainer && \
	    python3 tests/fuzz/crash.py trainer build/trainer/trainer; }
build/fuzz/crash_%: tests/fuzz/crash_save.c statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -DSTATESAMPLER_IMPLEMENTATION \
	    $(if $(filter control,$*),-DCRASH_BROKEN) -I. $(LDFLAGS) -o $@ $<

# The largest sizes: a minute.
scale: build/fuzz/scale
	build/fuzz/scale
build/fuzz/scale: tests/fuzz/scale.c statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -O3 -I. $(LDFLAGS) -o $@ $<

# RUNS kills of whole runs, of all kinds for which the tools are here, or of
# those that ONLY matches.
RUNS ?= 1000
storm: build/train_text web
	@if sh examples/trainer/here.sh $(MPICC); then \
	    $(MAKE) --no-print-directory -s build/trainer/trainer; fi
	@command -v python3 >/dev/null || { \
	    echo 'skip storm: python3 is not here'; exit 0; }; \
	    TORCH_PYTHON=$$(sh tests/torch/python.sh) \
	    python3 tests/fuzz/storm.py $(RUNS) $(SEED)

clean:
	rm -rf build

# The statistics of the permutation, at length; make test asks the short form.
quality: build/quality/quality
	build/quality/quality long build/quality
	build/quality/quality selftest 0.25 3
	sh tests/quality/dieharder.sh build/quality/quality build/quality 600

quality-rounds: build/quality/quality
	build/quality/quality rounds build/quality

# Two questions of make test may build it at the same time.
build/quality/quality: $(wildcard tests/quality/*.[ch]) statesampler.h
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -O3 -I. $(LDFLAGS) -o $@.$$$$ \
	    tests/quality/*.c -lm && mv $@.$$$$ $@

# The test vectors, by an independent program; a failing one leaves them alone.
vectors:
	@mkdir -p build
	python3 tests/reference.py >build/vectors.json
	cp build/vectors.json tests/vectors.json

# Whole at once: another question of make test may run it, or make it, too.
build/%: examples/%.c statesampler.h $(wildcard examples/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CFLAGS) -I. $(STB_FLAGS) $(LDFLAGS) -o $@.$$$$ $< \
	    -lm -pthread && mv $@.$$$$ $@

# For this machine's GPU, or, where there is none, for any since Turing.
GPU_FLAGS ?= -O3 -arch=$(if $(wildcard /dev/nvidia0),native,sm_75) \
    -Xcompiler=-fopenmp
build/gpu: bench/gpu.cu statesampler.h
	@mkdir -p $(@D)
	$(NVCC) $(GPU_FLAGS) '-DGPU_FLAGS="$(GPU_FLAGS)"' -I. -o $@ $<

# build/test/WAY/NAME is tests/NAME.c compiled in a way of tests/ways.sh, with
# the core of its folder.
.PRECIOUS: build/test/%/core.o
build/test/%/core.o: tests/core.c statesampler.h tests/ways.sh
	@mkdir -p $(@D)
	@sh tests/ways.sh $* $< $@
.SECONDEXPANSION:
build/test/%: tests/$$(basename $$(*F)).c $$(@D)/core.o $(wildcard tests/*.h)
	@mkdir -p $(@D)
	@sh tests/ways.sh $(*D) $< $@

# What deps installs, for the questions of tests/questions.
PACKAGES = g++ clang lld libclang-rt-dev tcc nodejs node-typescript chromium \
    binaryen esbuild \
    qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
    gcc-s390x-linux-gnu libc6-dev-s390x-cross \
    gcc-i686-linux-gnu libc6-dev-i386-cross \
    gcc-mips-linux-gnu libc6-dev-mips-cross \
    gcc-m68k-linux-gnu libc6-dev-m68k-cross \
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross musl-tools \
    gcc-arm-none-eabi qemu-system-arm gcc-avr avr-libc libsimavr-dev \
    gcc-riscv64-unknown-elf qemu-system-misc \
    gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine wine64 \
    pkg-config libstb-dev python3 python3-numpy gnuplot-nox python3-torch \
    dieharder pmccabe afl++ strace valgrind \
    libopenmpi-dev openmpi-bin libopenblas-dev libyaml-dev procps

deps:
	@sh tests/deps.sh $(PACKAGES)

# What make prove needs besides, large because of OCaml.
deps-prove:
	@sh tests/deps.sh z3 why3 frama-c-base python3

.PHONY: help demo examples test mutants mutants-all fuzz fuzz-agree crash \
    storm scale sanitize prove deps-prove judge complexity sizes bench \
    bench-figures quality quality-rounds vectors gpu torch torch-figures \
    firmware web web-test web-speed web-shots trainer trainer-demo \
    trainer-figures trainer-mutants trainer-bench trainer-long clean deps
