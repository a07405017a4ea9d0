# pip.sh - the Python package, as its users install it: without a network, and
# with nothing of the user's own.

# Where Debian keeps what pip builds packages with.
wheels=/usr/share/python-wheels

# From here on pip asks nobody, and finds an empty home.
no_network() {
    export HOME="$PWD/home" PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1
    unset PIP_FIND_LINKS PYTHONPATH STATESAMPLER_LIBRARY
    mkdir home
}

# Makes a virtual environment in the folder `venv`. Without an option it sees
# what is installed here, such as pip and torch. The library is compiled in less
# time than by default; as_told looks at that.
environment() { # PYTHON [OPTION]
    no_network
    export CFLAGS=-O0
    quietly "$1" -m venv ${2:---system-site-packages --without-pip} venv
}

# The command fails with one such line, and installs nothing.
refused() { # LINE COMMAND...
    line=$1
    shift
    ! "$@" >said 2>&1 && [ "$(grep -c "$line" said)" = 1 ] || {
        cat said
        return 1
    }
    find venv -name '*statesampler*' | nothing
}

# Root may write everywhere, unless it gives up what makes it root.
as_anyone() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-all --inh-caps=-all "$@"
    else
        "$@"
    fi
}

# Takes away the right to write into `venv`, until the test ends.
protect() {
    trap 'chmod -R u+w venv' EXIT
    chmod -R a-w venv
}

# Two ranks begin, each a process; one alone does the rest. There is no
# compiler, and nothing is written.
each_once() { # PROGRAM
    export HOME="$PWD/nowhere"
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 as_anyone env PATH=/none \
            "$PWD/venv/bin/python" "$1" state$rank 20 >served$rank &
    done
    wait
    PATH=/none venv/bin/python "$1" state1 1000 >rest
    sort -n served0 served1 rest >served
    seq 0 599 | cmp - served
    [ ! -e nowhere ]
    ls -A "$TMPDIR" | nothing
}

# The sdist, and the wheel for all platforms, in the folder `packages`.
make_packages() { # PYTHON
    PYTHON=$1 quietly make_once build/test/packages/made
    cp -R "$root/build/test/packages" .
    wheel=$(echo packages/*.whl)
}

# The sdist installs what the repository does, and the wheel what is listed here.
contents() { # PYTHON
    ls -AR examples/python >before
    make_packages "$1"
    version=$(. ./examples/packaging/common.sh && read_version <statesampler.h)
    for source in ./packages/statesampler-$version.tar.gz ./examples/python; do
        quietly "$1" -m pip wheel --no-build-isolation -w wheel $source
        made=$(echo wheel/statesampler-$version-py3-none-*_*.whl)
        "$1" -m zipfile -e $made "$(basename $source).files"
        rm $made
    done
    ls -AR examples/python | diff before -
    diff -r statesampler-$version.tar.gz.files python.files
    (cd examples/python/statesampler && ls *.py *.pyi py.typed) >modules
    at_least 20 "$(wc -l <modules)" modules
    (cd python.files/statesampler && LC_ALL=C ls) >files
    echo libstatesampler.so | LC_ALL=C sort - modules | diff files -
    [ "$wheel" = packages/statesampler-$version-py3-none-any.whl ]
    "$1" -m zipfile -e $wheel wheel.files
    (cd wheel.files/statesampler && ls) |
        sed 's/\(libstatesampler-.*\)-[0-9a-f]\{8\}\./\1./' |
        LC_ALL=C sort >files
    printf 'libstatesampler-%s\n' darwin-arm64.dylib darwin-x86_64.dylib \
        linux-aarch64.so linux-x86_64.so win32-AMD64.dll win32-ARM64.dll |
        LC_ALL=C sort - modules | diff files -
    for kind in python wheel; do
        grep -qx "Version: $version" $kind.files/*.dist-info/METADATA
        find $kind.files/*.dist-info -name LICENSE | grep -q .
    done
    size=$(wc -c <$wheel)
    at_least $size 307200 'bytes are allowed'
    echo "note: $size bytes"
}

# In a fresh venv, which has pip and, if it is that old, setuptools.
without_torch() { # PYTHON
    environment "$1" --clear
    if "$1" -c 'import sys; exit(sys.version_info >= (3, 12))'; then
        refused 'A wheel cannot be made here: pip install wheel' \
            venv/bin/pip install --no-build-isolation ./examples/python
    else
        echo 'skip pip: setuptools without wheel: a python3 before 3.12' \
            'is not here'
    fi
    contents "$1"
    quietly venv/bin/pip install $wheel
    protect
    cat >program.py <<'END'
import os, sys
from statesampler import Sampler
sampler, (path, batches) = Sampler(600, batch_size=10), sys.argv[1:]
if os.path.exists(path):
    with open(path, "rb") as file:
        sampler.load(file.read())
for _, batch in zip(range(int(batches)), sampler):
    print(*batch, sep="\n")
with open(path, "wb") as file:
    file.write(sampler.save())
END
    each_once program.py
    PATH=/none venv/bin/python -B examples/python/tests/killed.py \
        "$PWD/venv/bin/python" -B
    chmod -R u+w venv
    quietly venv/bin/pip uninstall -y statesampler
    find venv -name '*statesampler*' | nothing
}

# Processor time, the least of five, where torch could be imported.
import_time() {
    cat >program.py <<'END'
import sys, time
import numpy
began = time.process_time()
import statesampler
print(int(1e6 * (time.process_time() - began)))
assert "torch" not in sys.modules
assert "StatefulDistributedSampler" in statesampler.__all__
END
    for _ in 1 2 3 4 5; do
        venv/bin/python program.py
    done >times
    least=$(sort -n times | head -n 1)
    at_least $least 30000 'microseconds are allowed'
    echo "note: $least microseconds after numpy"
}

# The commands that install the package, as a text has them.
told() { # TEXT
    tr -s '\n ' ' ' <"$1" | grep -o '`[^`]*pip install \./examples/python`' |
        tr -d '`'
}

# Types one, with no more than the text says: in Debian's Python, whose pip
# refuses to install beside its packages. pip has the build's tools from Debian.
typed() { # PYTHON COMMAND
    rm -rf venv
    quietly env PATH="$(dirname "$(command -v "$1")"):$PATH" \
        PIP_FIND_LINKS=$wheels sh -c "$2"
}

# The other ones are typed in with_torch.
as_told() { # PYTHON
    no_network
    { told README.md && told examples/python/README.md; } | sort -u |
        grep -v -e --system-site-packages >commands
    while read -r command; do
        typed "$1" "$command"
        [ "$(venv/bin/python -c 'from statesampler import Sampler
print(sorted(i for batch in Sampler(3) for i in batch.tolist()))')" = \
            '[0, 1, 2]' ]
    done <commands
}

with_torch() { # PYTHON
    no_network
    typed "$1" "$(told examples/python/README.md | grep system-site-packages)"
    protect
    cat >program.py <<'END'
import os, sys, torch
from statesampler import CountingDataLoader, StatefulDistributedSampler
sampler, (path, batches) = StatefulDistributedSampler(range(600)), sys.argv[1:]
if os.path.exists(path):
    sampler.load_state_dict(torch.load(path))
loader = iter(CountingDataLoader(range(600), 10, sampler=sampler))
for _, batch in zip(range(int(batches)), loader):
    print(*batch.tolist(), sep="\n")
torch.save(sampler.state_dict(), path)
END
    each_once program.py
    import_time
}

# An import ends with one line that says this.
import_refused() { # LINE COMMAND...
    line=$1
    shift
    fails "$@"
    tail -n 1 said >complaint
    grep -q "^ImportError: $line" complaint || {
        cat said
        return 1
    }
}

# The last is a disk that another kind of machine shares: the library gets the
# number of that processor.
refusals() { # PYTHON
    environment "$1"
    install='venv/bin/python -m pip install --no-build-isolation'
    refused 'The library was not compiled, as .*nocc.*: install gcc or clang' \
        env CC=nocc $install ./examples/python
    refused 'statesampler has no editable install: put .* on PYTHONPATH' \
        $install -e ./examples/python
    cp -R examples/python half
    refused 'is not in .*half: install from a whole checkout' $install ./half
    protect
    refused 'OSError.*Permission denied' as_anyone $install --no-user \
        ./examples/python
    chmod -R u+w venv
    quietly $install ./examples/python
    printf '\1' | dd bs=1 seek=18 conv=notrunc status=none \
        of="$(echo venv/lib/*/site-packages/statesampler/libstatesampler.so)"
    import_refused '.* does not load on this machine: install .* with pip' \
        venv/bin/python -c 'import statesampler'
}

# Begins as on another platform: sets what Python says of it.
elsewhere='import os, sys
there = os.uname_result((*os.uname()[:4], "riscv64"))
os.uname = lambda: there
import statesampler
print(sum(sum(batch) for batch in statesampler.Sampler(9)))'

# The wheel where none of its libraries fits, and what it then says to do. Then in
# an archive, in a program that is one, in a program that holds its Python, and
# damaged, where to load it would crash Python.
anywhere() { # PYTHON
    environment "$1"
    make_packages "$1"
    quietly venv/bin/python -m pip install --no-build-isolation $wheel
    protect
    import_refused 'no library in .* is for linux-riscv64: install a C compiler' \
        as_anyone venv/bin/python -c "$elsewhere"
    find home -name '*statesampler*' | nothing
    venv/bin/python -c 'import statesampler'
    [ $machine != x86_64 ] || setarch i686 venv/bin/python -c 'import statesampler'
    chmod -R u+w venv
    way_out=$(sed -n 's/.*, with \(pip install .*\)/\1/p' complaint)
    (cd packages && quietly ../venv/bin/python -m $way_out --no-build-isolation)
    venv/bin/python -c "$elsewhere" | grep -qx 36
    rm -r venv/lib/*/site-packages/statesampler
    mkdir program
    "$1" -m zipfile -e $wheel program
    echo 'import statesampler' >program/__main__.py
    "$1" -m zipapp program
    import_refused 'the library .* cannot be loaded from .*pyz.*: unpack it' \
        venv/bin/python program.pyz
    import_refused 'the library .* cannot be loaded from .*whl.*: unpack it' \
        env PYTHONPATH=$wheel venv/bin/python -c 'import statesampler'
    import_refused 'this program was made .*PyInstaller: --collect-all' \
        env PYTHONPATH=$wheel venv/bin/python -c '
import sys
sys.frozen = True
import statesampler'
    "$1" -m zipfile -e $wheel unpacked
    PYTHONPATH=unpacked venv/bin/python -B -c 'import statesampler'
    library=$(echo unpacked/statesampler/*-$(uname -s | tr A-Z a-z)-$machine-*)
    cp $library whole
    for size in 0 1000 20000 $(($(wc -c <whole) - 1)); do
        head -c $size whole >$library
        import_refused '.* is damaged, or was .* strip does: install .* with pip' \
            env PYTHONPATH=unpacked venv/bin/python -B -c 'import statesampler'
    done
    for size in 0 40 1000 20000 $(($(wc -c <whole) - 1)) ''; do
        head -c ${size:-999999} whole >$library
        ${size:+import_refused '.* is damaged, or was .* strip does: install .* with pip'} \
            env PYTHONPATH=unpacked venv/bin/python -B -c '
import sys
sys.frozen = True
import statesampler'
    done
    # Where root may mount something.
    if mkdir mounted && unshare -m mount -t tmpfs none mounted 2>/dev/null; then
        import_refused '.* is on a file system that is mounted with noexec' \
            unshare -m sh -c 'mount -t tmpfs -o noexec none mounted &&
                cp -R unpacked mounted &&
                exec env PYTHONPATH=mounted/unpacked venv/bin/python -B -c \
                    "import statesampler"'
    fi
    rm $library
    import_refused "no library in .* is for .*$machine: install statesampler again" \
        env PYTHONPATH=unpacked venv/bin/python -B -c 'import statesampler'
    mkdir $library
    import_refused '.* cannot be read: Is a directory' \
        env PYTHONPATH=unpacked venv/bin/python -B -c 'import statesampler'
    touch unpacked/statesampler/libstatesampler.so
    import_refused '.* libraries of two installations: remove it, and install' \
        env PYTHONPATH=unpacked venv/bin/python -B -c 'import statesampler'
}

# Right programs pass, wrong ones do not, and the types are those of the module,
# but for what is internal.
types() { # PYTHON
    environment "$1" --without-pip
    site=$(echo venv/lib/*/site-packages)
    quietly "$1" -m pip install --no-build-isolation -t $site ./examples/python
    cat >right.py <<'END'
from statesampler import (Audit, CountedBatchSampler, CountingDataLoader,
                          Ledger, Mix, PackedBatchSampler, RepeatSampler,
                          RoundRobinBatchSampler, Sampler,
                          SpreadBatchSampler, StatefulDistributedSampler,
                          StatefulLoader)

batches: list[list[int]] = [batch.tolist() for batch in Sampler(9, 0, 1, 4)]
state: bytes = Mix([3, 4], weights=[1, 2], stop="all").save()
sampler = StatefulDistributedSampler(range(9), 1, 0, tail="uneven",
                                     fingerprint=b"1", changed="accept")
audit = Audit()
audit.add(sampler.at(sampler.locate(3).step, rank=0) or [])
once: bool = audit.check(9)
sampler.load_state_dict(sampler.state_dict())
sampler.epoch = sampler.epoch + 1
sampler.batch_size, sampler.fingerprint, sampler.dataset = 4, "2", range(9)
first: int = next(iter(sampler))
loader: CountingDataLoader[int] = CountingDataLoader([1, 2], sampler=sampler)
taken: list[object] = [batch for batch in loader]
counted = StatefulLoader([[1], [2]], sampler, items=1)
counted.load_state_dict(counted.state_dict())
lists: list[list[int]] = [batch for batch in counted]
mine: list[list[int]] = list(CountedBatchSampler([[1], [2]], sampler))
turns = RoundRobinBatchSampler([3, 4], 2, weights=[2, 1])
sizes: list[int] = [len(turns), *(len(batch) for batch in turns)]
packs: list[list[int]] = list(PackedBatchSampler([3, 4, 5], 8, endless=False))
groups = RepeatSampler(range(9), 2, 4, seed=None)
copies: list[int] = list(groups)
groups.data_source, groups.changed = range(9), "refuse"
spread: list[list[int]] = list(SpreadBatchSampler("abcdab", 2, apart=3))
tickets: list[tuple[int, int]] = list(Ledger(9, 64, seed=1, epochs=2))
ledger = Ledger(Sampler(9), 64)
for ticket, batch in ledger:
    batch.append(ticket)
    ledger.done(ticket)
ledger.load_state_dict(ledger.state_dict())
END
    cat >wrong.py <<'END'
from statesampler import (Ledger, Mix, PackedBatchSampler, RepeatSampler,
                          RoundRobinBatchSampler, Sampler,
                          SpreadBatchSampler, StatefulDistributedSampler,
                          StatefulLoader)
Sampler("9")
Sampler(9, tail="none")
Mix([9], stream=1)
Sampler(9).load("state")
StatefulDistributedSampler(9)
Ledger(Sampler(9), 64, seed=1)
Ledger("9", 64)
PackedBatchSampler([3], 8).__len__()
StatefulDistributedSampler(range(9), changed="no")
StatefulDistributedSampler(range(9)).rank = 1
StatefulDistributedSampler(range(9)).total_size = 9
RoundRobinBatchSampler([9], 4).lengths = [8]
PackedBatchSampler([3], 8).max_tokens = 9
RepeatSampler(range(9), 2).repeat_count = 2
SpreadBatchSampler("abc", 2).seed = 1
StatefulLoader([], StatefulDistributedSampler(range(9))).items = 3
END
    check='mypy --strict --python-executable venv/bin/python'
    fails $check right.py wrong.py
    sed -n 's/^\([a-z]*.py:[0-9]*\): error.*/\1/p' said | tr '\n' ' ' |
        sed 's/wrong.py://g' | grep -qx "$(seq -s ' ' 5 20) " || {
        cat said
        return 1
    }
    cat >internal <<'END'
statesampler\.libstatesampler
statesampler\.[a-z_]*\..*
statesampler\.RoundRobinBatchSampler\.__init__
statesampler\.PackedBatchSampler\.__len__
END
    cat >settings <<'END'
[mypy]
ignore_missing_imports = True
[mypy-statesampler.*]
ignore_errors = True
[mypy-torch.*]
follow_imports = skip
END
    PYTHONPATH=$site quietly stubtest statesampler --concise \
        --allowlist internal --mypy-config-file settings
}

# Where a library exports what it says, it says all that Python calls.
windows() {
    for compiler in cc x86_64-w64-mingw32-gcc; do
        $compiler -std=c99 -shared -fPIC -I. -Iexamples/extras -o $compiler.so \
            examples/python/statesampler/library.c
    done
    nm -D --defined-only cc.so | sed -n 's/.* statesampler_/statesampler_/p' |
        sort >here
    at_least 40 "$(wc -l <here)" names
    x86_64-w64-mingw32-objdump -p x86_64-w64-mingw32-gcc.so |
        sed -n 's/^	\[.* statesampler_/statesampler_/p' | sort >there
    diff here there
}

types_tests() { # PYTHON
    add_test 'pip: what README.md and its page say, word for word' \
        as_told $1
    if PYTHON=$1 sh examples/python/tests/python.sh torch numpy >/dev/null 2>&1; then
        add_test 'pip: beside torch: two ranks, then one; imported in 30 ms more' \
            with_torch $1
    else
        skip_dep 'pip: beside torch, and the time of the import' 'torch or numpy'
    fi
}

list_tests() {
    python=$(sh examples/python/tests/python.sh build setuptools wheel pip ensurepip \
        2>/dev/null) || {
        skip_dep 'the Python package' 'a python3 with build, pip, venv and wheel'
        return
    }
    add_test 'pip: what cannot be installed or loaded says what to do' \
        refusals $python
    if tool clang "pip: Python's wheel" && tool lld "pip: Python's wheel" &&
        tool advzip "pip: Python's wheel"; then
        add_test 'pip: one wheel for all platforms; two ranks, then one; kills' \
            without_torch $python
        add_test 'pip: the wheel on another platform, in an archive, damaged' \
            anywhere $python
    fi
    if ls $wheels/setuptools-* $wheels/wheel-* >/dev/null 2>&1; then
        types_tests $python
    else
        skip_dep 'pip: what the READMEs say' python3-wheel-whl
    fi
    if tool mypy 'pip: types'; then
        add_test 'pip: the types are those of the module, and mypy uses them' \
            types $python
    fi
    if tool x86_64-w64-mingw32-gcc 'pip: the library for Windows'; then
        add_test 'pip: the library exports the same for Windows (mingw-w64)' windows
    fi
}
