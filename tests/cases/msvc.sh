# msvc.sh - as Microsoft's compiler would see the header. Its own is not here:
# clang does for its targets, with its macros, and tests/msvc.h for its library.

# The names of the library's headers, for tests/msvc.h.
msvc_headers() {
    mkdir -p msvc
    for name in errno fcntl io malloc process stdio stdlib string time wchar; do
        echo '#include "tests/msvc.h"' >msvc/$name.h
    done
}

# Every part, in C and C++, without a warning. __forceinline is its word. What
# is a warning does not depend on the optimizer, nor on more mixtures of macros:
# an object is made of the core alone.
msvc_warnings() { # TARGET
    msvc_headers
    for language in c++:-std=c++98 c++:-std=c++20 c:-std=c99; do
        msvc_look $1 $language "-O2 $only_look" STATIC HOSTED
        msvc_look $1 $language "-ffreestanding -O2 $only_look"
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

# The header as clang makes it for MSVC, hosted part and all, and tests as mingw
# makes them. For frames of a page or more both call a function of the library,
# each by another name.
msvc_object() { # TEST...
    msvc_headers
    source_of IMPLEMENTATION HOSTED | STB_FLAGS= compile c core.o \
        clang --target=x86_64-pc-windows-msvc -std=c99 -O2 -isystem msvc
    for test; do
        x86_64-w64-mingw32-gcc -std=c99 -O1 -static -I. \
            -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -o $test.exe \
            -Wl,--defsym=__chkstk=___chkstk_ms "$root/tests/$test.c" core.o
    done
    begin_windows
    status=0
    for test; do
        quietly wine ./$test.exe reduced || status=1
        sed -n '$s/.*: \([0-9]* checks\).*/\1/p' said | grep . >>checks ||
            status=1
    done
    echo "note: $(cat checks | tr '\n' ' ')"
    return $status
}

list_tests() {
    tool clang 'what MSVC would see' || return 0
    for target in x86_64 i686 aarch64; do
        add_test "no warning, as for MSVC: $target, clang" msvc_warnings $target
    done
    if tool wine 'an object for MSVC' &&
        tool x86_64-w64-mingw32-gcc 'an object for MSVC'; then
        add_test 'vectors and files, an object for MSVC by clang, under wine' \
            msvc_object test_vectors test_hosted
    fi
}
