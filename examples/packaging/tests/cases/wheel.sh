# wheel.sh - the libraries of the Python package's wheel, each by a program that
# calls it where there is an emulator, and all by what their files say.

# Makes libraries in the folder `made`.
make_libraries() { # [PLATFORM...]
    quietly sh -c 'cd "$0" && sh examples/packaging/wheel/libraries.sh "$@"' \
        "$root" "$folder/made" "$@"
}

# The checksum of every part, of which the library gives all that the header
# does. The program has no code of the header's.
checksum_of() { # PLATFORM COMPILER [RUNNER...]
    make_libraries $1
    mv made/* .
    library=$(echo libstatesampler-$1.*)
    $2 -std=c99 -O1 -I. -Iexamples/boards -o checksum tests/checksum.c \
        examples/boards/host/host.c ./$library
    shift 2
    "$@" ./checksum* | tr -d '\r' >here
    same_checksum "$(wc -c <$library) bytes of library"
}

# On a processor without AVX2, and on one that has it, which gets the longer
# vectors.
processors() {
    for processor in qemu64 max; do
        rm -rf made
        checksum_of linux-x86_64 "$CC -Wl,-rpath,." \
            qemu-x86_64 -cpu $processor -d in_asm -D $processor
    done
    fails grep -q 'vpmulhuw.*ymm' qemu64
    grep -q 'vpmulhuw.*ymm' max
}

windows_checksum() {
    begin_windows
    checksum_of win32-AMD64 'x86_64-w64-mingw32-gcc -static' wine
}

# Names that the file of a library gives out, as Python calls them.
given() { # FILE
    case $1 in
    *.dll) llvm-readobj --coff-exports "$1" | sed -n 's/^ *Name: //p' ;;
    *.dylib) llvm-nm --defined-only --extern-only "$1" | sed 's/.* _//' ;;
    *) llvm-nm --dynamic --defined-only "$1" | sed 's/.* //' ;;
    esac | grep . | LC_ALL=C sort
}

# What it needs of other files.
needed() { # FILE
    case $1 in
    *.dll) llvm-readobj --coff-imports "$1" | grep -A 9 Import || : ;;
    *.dylib) llvm-nm --undefined-only "$1" ;;
    *) llvm-nm --dynamic --undefined-only "$1"
       llvm-readobj --needed-libs "$1" | sed -n '/^NeededLibraries/,/^]/p' |
           sed '/[][]/d' ;;
    esac
}

# Whether each page of a file for macOS has the digest that its signature says,
# of which the numbers are big-endian: the load command 0x1d says where it is.
signed() { # PYTHON FILE
    "$1" - "$2" <<'END'
import hashlib, struct, sys
file = open(sys.argv[1], "rb").read()
command = 32
for _ in range(*struct.unpack_from("<I", file, 16)):
    kind, length, place = struct.unpack_from("<III", file, command)
    if kind == 0x1d:
        break
    command += length
place += struct.unpack_from(">I", file, place + 16)[0]
first, _, _, pages, end = struct.unpack_from(">5I", file, place + 16)
for page in range(pages):
    digest = hashlib.sha256(file[4096 * page:min(4096 * page + 4096, end)])
    begin = place + first + 32 * page
    assert file[begin:begin + 32] == digest.digest(), f"page {page} is not signed"
assert 0 <= 4096 * pages - end < 4096
END
}

# All give the same, and need nothing. Apple's processors load nothing without a
# signature; here it is of nobody. What macOS may read is the system's library.
structure() { # PYTHON
    PYTHON=$1 quietly make_once build/test/packages/made
    "$1" -m zipfile -e "$root"/build/test/packages/*.whl wheel
    mkdir made
    for file in wheel/statesampler/libstatesampler-*; do
        mv $file made/$(basename $file | sed 's/-[0-9a-f]\{8\}\././')
    done
    sed -n 's/^EXPORT([^,]*, \([a-z_]*\),.*/statesampler_\1/p' \
        examples/python/statesampler/library.c >ours
    at_least 20 "$(wc -l <ours)" functions
    for file in made/libstatesampler-*.*; do
        given $file >given
        needed $file | sed "s|^|$file needs |"
        if [ -e first ]; then
            diff first given
        else
            mv given first
            LC_ALL=C sort ours | LC_ALL=C comm -23 - first
        fi
    done >complaints
    nothing <complaints
    [ "$(ls made/libstatesampler-*.* | wc -l)" = 6 ]
    grep -qx statesampler_layout first
    signed "$1" made/libstatesampler-darwin-arm64.dylib
    for machine in arm64 x86_64; do
        llvm-objdump --macho --private-headers \
            made/libstatesampler-darwin-$machine.dylib >said
        for line in 'cmd LC_UUID' 'name /usr/lib/libSystem.B.dylib'; do
            grep -q "$line" said || {
                echo "darwin-$machine: no $line"
                return 1
            }
        done
    done
    for pair in darwin-arm64.dylib:arm64 darwin-x86_64.dylib:x86_64 \
        win32-AMD64.dll:COFF-x86-64 win32-ARM64.dll:COFF-ARM64 \
        linux-aarch64.so:elf64-littleaarch64 linux-x86_64.so:elf64-x86-64; do
        llvm-readobj --file-headers made/libstatesampler-${pair%:*} |
            grep -qE "^(Format|Arch): .*${pair#*:}\$"
    done
    echo "note: $(cat made/libstatesampler-*.* | wc -c) bytes"
}

list_tests() {
    for tool in clang lld llvm-strip; do
        tool $tool "the wheel's libraries" || return 0
    done
    what='the wheel: the checksum of every part'
    if [ "$machine-$(uname -s)" = x86_64-Linux ]; then
        add_test "$what: Linux, x86-64" checksum_of linux-x86_64 \
            '"$CC -Wl,-rpath,."'
        if tool qemu-x86_64 "$what: with AVX2 or not"; then
            add_test "$what: Linux, x86-64, with AVX2 or not (qemu)" processors
        fi
        if tool musl-gcc "$what: Linux, x86-64, musl"; then
            add_test "$what: Linux, x86-64, musl" checksum_of linux-x86_64 \
                '"musl-gcc -Wl,-rpath,."'
        fi
    fi
    if tool qemu-aarch64 "$what: Linux, AArch64" &&
        tool aarch64-linux-gnu-gcc "$what: Linux, AArch64"; then
        add_test "$what: Linux, AArch64 (qemu)" checksum_of linux-aarch64 \
            '"aarch64-linux-gnu-gcc -Wl,-rpath,."' qemu-aarch64 \
            -L /usr/aarch64-linux-gnu
    fi
    if tool x86_64-w64-mingw32-gcc "$what: Windows, x86-64" &&
        tool wine "$what: Windows, x86-64"; then
        add_test "$what: Windows, x86-64 (wine)" windows_checksum
    fi
    what='the wheel: what its files say (macOS, Windows on ARM: not run)'
    if tool llvm-readobj "$what" && tool advzip "$what"; then
        if python=$(sh examples/python/tests/python.sh build setuptools wheel \
            2>/dev/null); then
            add_test "$what" structure $python
        else
            skip_dep "$what" 'a python3 with build and wheel'
        fi
    fi
}
