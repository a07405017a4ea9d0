# statesampler.h needs no build: copy it. This Makefile builds the demo, the
# examples, the tests and the benchmarks, all under build/:
#     make demo           train, kill, resume on another number of ranks, and
#                         compare: C only, about 10 seconds; FILES="a b" trains
#                         on these files
#     make examples       build the examples: build/quickstart and so on
#     make check          the core tests, with a C compiler alone: a minute
#     make deps           install what the tests need: 1.6 GB to download, 7.3
#                         GB on disk
#     make deps-npm       install what they need of npm alone
#     make test           run every test, by CTest: about 11 minutes;
#                         ONLY=pattern runs those that match, JOBS so many at a
#                         time; make tests is the same
#     make bench          measure speed, memory and resumes: tables, plots
#     make bench-figures  copy the last bench into bench/FIGURES.md, bench/plots
#                         and the README
#     make gpu            check and time the header on a GPU, with CUDA
#     make clean          remove build/
#     make help           print the heads of all Makefiles, such as this text
# Times are for two cores. CC and CFLAGS work as usual; the examples also
# compile as C++ (CC=g++). Each product has a Makefile of its own in its folder
# of examples; tests/ and bench/ have one. Their targets can be made here too:
# those of tests and packaging by their names, and
#     make storm          kill whole runs of four products at random moments
#     make boards         train on emulated boards
#     make web            build the JavaScript module and the page; web-test and
#                         so on make the other targets of examples/js
#     make torch          train with PyTorch; torch-test and so on make the
#                         other targets of examples/python
#     make trainer        build the trainer; trainer-test and so on

CFLAGS ?= -O2
FILES ?=
# Four more than there are processors: tests that kill processes mostly wait.
JOBS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 4)))

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
	@for file in Makefile tests/Makefile bench/Makefile \
	    examples/*/Makefile; do \
	    [ $$file = Makefile ] || \
	        { echo; echo "--- make -C $${file%/Makefile} TARGET"; }; \
	    sed -n '/^#/!q; s/^# //p' $$file; \
	done

demo: build/train_text
	sh examples/demo.sh build/train_text $(FILES)

examples: $(patsubst examples/%.c,build/%,$(filter-out \
    $(if $(STB_FLAGS),,examples/grow.c),$(wildcard examples/*.c)))
	@$(if $(STB_FLAGS),:,echo 'skip grow: stb_ds.h is not here')

check:
	@MAKEFLAGS= sh tests/check.sh

# Everything: make deps test runs deps first, also under -j.
test: | $(filter deps,$(MAKECMDGOALS))
	@MAKEFLAGS= sh tests/run.sh
tests: test # not the folder

bench:
	@$(DOWN) bench run

clean:
	rm -rf build

# --- What other Makefiles have ------------------------------------------------

DOWN = $(MAKE) --no-print-directory -C

mutants mutants-all sanitize fuzz fuzz-agree prove deps-prove complexity \
format sizes crash newest scale histories quality quality-rounds vectors: \
    | $(filter deps deps-prove test,$(MAKECMDGOALS))
	@$(DOWN) tests $@
build/test/% build/fuzz/% build/quality/%: always
	@$(DOWN) tests ../$@

deps:
	@$(DOWN) tests deps
deps-npm:
	@$(DOWN) examples/js deps
bench-figures:
	@$(DOWN) bench figures
gpu:
	@$(DOWN) bench gpu
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
storm: | $(filter deps test,$(MAKECMDGOALS))
	@$(DOWN) examples/tests storm
packages release install uninstall bare:
	@$(DOWN) examples/packaging $@

# --- Examples -----------------------------------------------------------------

# The examples are C99 and, for a CC that is a C++ compiler, C++.
STANDARD = $(if $(findstring ++,$(CC)),,-std=c99)
LANGUAGE = $(if $(findstring ++,$(CC)),-x c++)

# What a program is made with: another compiler makes it anew.
.PRECIOUS: build/%.flags
build/%.flags: export FLAGS := $(CC) $(CFLAGS) $(LDFLAGS)
build/%.flags: always
	@mkdir -p $(@D); echo "$$FLAGS" | cmp -s - $@ || { \
	    echo "$$FLAGS" >$@.$$$$ && mv $@.$$$$ $@; }

# Renamed into place, as another test may run or build it at the same time.
build/%: examples/%.c statesampler.h build/%.flags \
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

always:

.PHONY: help demo examples check test tests bench bench-figures gpu clean \
    mutants mutants-all sanitize fuzz fuzz-agree prove deps-prove complexity \
    format sizes crash newest scale histories quality quality-rounds vectors \
    web trainer torch boards storm packages release install uninstall bare \
    deps deps-npm always
