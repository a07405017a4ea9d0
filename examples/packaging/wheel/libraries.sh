#!/bin/sh
# libraries.sh FOLDER [PLATFORM...] - compiles library.c of the Python package
# for these platforms or for all six, as FOLDER/libstatesampler-PLATFORM.so (.dll,
# .dylib). _library.py names the platforms so. It needs clang, lld and llvm-strip
# alone: the libraries use no C library, so no files of these systems are needed,
# and every Linux has the same file, whether its C library is glibc or musl.
set -e
here=examples/packaging/wheel
out=${1:?usage: libraries.sh FOLDER [PLATFORM...]}
shift
[ $# -gt 0 ] || set -- linux-x86_64 linux-aarch64 darwin-arm64 darwin-x86_64 \
    win32-AMD64 win32-ARM64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# Without what is only for a C library, debuggers and exceptions. clang must make
# no bcmp of a memcmp, as memory.c has none.
options="-std=c99 -Wall -Werror -Wno-unused-command-line-argument
    -I. -Iexamples/extras -nostdlibinc -fomit-frame-pointer
    -isystem $here/include -include $here/processor.h -fvisibility=hidden
    -fno-builtin-memcmp -ffunction-sections -fno-stack-protector
    -fno-unwind-tables -fno-asynchronous-unwind-tables"

# The library is small: a fifth of the wheel less than with -O2. What counts is
# as fast, as the header keeps its code for speed without __OPTIMIZE_SIZE__, and
# loops over a few vectors are unrolled, or they are not in registers. What costs
# no time: that which ends several branches is there once, no expression and no
# end of a loop is copied to save a jump, loops keep few pointers, and -fwrapv
# makes less code. Functions of what repeats, as clang makes them for ARM, are less
# code, but more when it is packed.
small="-Oz -U__OPTIMIZE_SIZE__ -mno-outline -mllvm -unroll-threshold=100
    -mllvm -inline-threshold=0 -mllvm -sink-common-insts -mllvm -enable-pre=0
    -mllvm -tail-dup-placement=0 -mllvm -disable-lsr -fwrapv"

# Makes an object of each source in $work.
compile() { # TARGET [OPTION...]
    target=$1
    shift
    clang --target=$target $options $small "$@" -c -o "$work/library.o" \
        examples/python/statesampler/library.c
    clang --target=$target $options -O2 -fno-builtin "$@" -c \
        -o "$work/memory.o" $here/memory.c
}

# Without the names of the compiler and the linker.
linux() { # MACHINE
    compile $1-linux-gnu -fPIC
    lld -flavor gnu -shared -Bsymbolic --no-undefined --hash-style=sysv \
        --build-id=none -s -o "$out/libstatesampler-linux-$1.so" "$work"/*.o
    llvm-strip -R .comment "$out/libstatesampler-linux-$1.so"
}

# The rules of Windows want all functions to have unwind tables.
windows() { # MACHINE PYTHONS_NAME_OF_IT
    compile $1-windows-msvc -funwind-tables
    lld -flavor link /dll /noentry /nodefaultlib /brepro /nologo \
        "/out:$out/libstatesampler-win32-$2.dll" "$work"/*.o
    rm "$out/libstatesampler-win32-$2.lib"
}

# It names the system's library, though it calls nothing of it: macOS may refuse
# one that names none. llvm-strip leaves out names of static functions, for which
# lld has no option yet, and signs anew what is signed: Apple's processors load
# nothing else, and Intel's need none, which has a hash of each page.
macos() { # MACHINE VERSION SIGNING
    compile $1-apple-macos$2 -fPIC
    cat >"$work/system.tbd" <<TBD
--- !tapi-tbd
tbd-version: 4
targets: [ $1-macos ]
install-name: /usr/lib/libSystem.B.dylib
...
TBD
    lld -flavor darwin -dylib -arch $1 -platform_version macos $2 $2 \
        $3 -install_name @rpath/libstatesampler-darwin-$1.dylib -S \
        -dead_strip -no_function_starts -no_data_in_code_info \
        -o "$out/libstatesampler-darwin-$1.dylib" "$work"/*.o "$work/system.tbd"
    llvm-strip -x "$out/libstatesampler-darwin-$1.dylib"
}

for platform; do
    case $platform in
    linux-*) linux ${platform#*-} ;;
    darwin-arm64) macos arm64 11.0 -adhoc_codesign ;;
    darwin-x86_64) macos x86_64 10.13 -no_adhoc_codesign ;;
    win32-AMD64) windows x86_64 AMD64 ;;
    win32-ARM64) windows aarch64 ARM64 ;;
    *)
        echo "libraries.sh: there is no way for $platform" >&2
        exit 1
        ;;
    esac
done
