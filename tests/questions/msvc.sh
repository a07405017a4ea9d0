# msvc.sh - as Microsoft's compiler would see the header. Its own is not here:
# clang does for its targets, with its macros, and tests/msvc.h for its library.

# Every part, in C and C++, without a warning. __forceinline is its word. What
# is a warning does not depend on the optimizer, nor on more mixtures of macros:
# an object is made of the core alone.
msvc_warnings() { # TARGET
    mkdir -p msvc/sys
    for name in errno fcntl io malloc share stdio stdlib string time wchar \
        sys/stat; do
        echo '#include "tests/msvc.h"' >msvc/$name.h
    done
    for language in c++:-std=c++98 c++:-std=c++20 c:-std=c99; do
        msvc_look $1 $language '-O2 -fsyntax-only' STATIC HOSTED
        msvc_look $1 $language '-ffreestanding -O2 -fsyntax-only'
    done
    msvc_look $1 c:-std=c99 '-ffreestanding -O1'
}

msvc_look() { # TARGET LANGUAGE:STANDARD FLAGS MACRO...
    target=$1 standard=$2 flags=$3
    shift 3
    source_of IMPLEMENTATION "$@" |
        STB_FLAGS= compile ${standard%%:*} msvc.o \
            clang --target=$target-pc-windows-msvc ${standard#*:} $flags \
            -isystem msvc $STRICT -Wshorten-64-to-32 \
            -Wno-language-extension-token
}

# The core as clang makes it for MSVC, and a test as mingw makes it.
msvc_object() { # TEST
    source_of IMPLEMENTATION | STB_FLAGS= compile c core.o \
        clang --target=x86_64-pc-windows-msvc -std=c99 -O2 -ffreestanding
    x86_64-w64-mingw32-gcc -std=c99 -O1 -static -I. \
        -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -o msvc.exe \
        "$root/tests/$1.c" core.o
    begin_windows
    status=0
    quietly wine ./msvc.exe reduced || status=1
    sed -n '$s/.*: \([0-9]* checks\).*/note: \1/p' said | grep . || status=1
    return $status
}

questions() {
    tool clang 'what MSVC would see' || return 0
    for target in x86_64 i686 aarch64; do
        ask "no warning, as for MSVC: $target, clang" msvc_warnings $target
    done
    if tool wine 'an object for MSVC' &&
        tool x86_64-w64-mingw32-gcc 'an object for MSVC'; then
        ask 'test_vectors, an object for MSVC by clang, under wine' \
            msvc_object test_vectors
    fi
}
