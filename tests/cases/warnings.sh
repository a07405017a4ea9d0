# warnings.sh - no compiler warns of anything, in any language it knows.

# In every combination of macros, also not about unused functions.
combinations() { # LANGUAGE COMMAND...
    language=$1
    shift
    for macros in '' STATIC HOSTED 'STATIC HOSTED' "$optional" \
        "STATIC $optional" "${optional#HOSTED}"; do
        source_of IMPLEMENTATION $macros |
            compile "$language" warn.o "$@" $STRICT
    done
    source_of $optional | compile "$language" warn.o "$@" $STRICT
}

# Of all of it, optimised; and where a compiler sees most: a caller that all of
# it is inlined into.
optimised() { # LANGUAGE COMMAND...
    language=$1
    shift
    source_of IMPLEMENTATION $optional |
        compile "$language" warn.o "$@" $STRICT -O2
    { source_of IMPLEMENTATION STATIC; caller; } |
        compile "$language" warn.o "$@" $STRICT -O3
}

# Names and conversions that C++ has not. (The stb_ds part is left out: in C the
# macros of stb_ds.h convert from void.)
compatible() { # COMMAND...
    source_of IMPLEMENTATION HOSTED |
        compile c warn.o "$@" $STRICT -Wc++-compat
}

# A caller that passes errors over where there can be none.
caller() {
    cat <<'END'
int probe(const statesampler_desc *desc, statesampler_place *place,
          uint64_t *out, size_t *count);
int probe(const statesampler_desc *desc, statesampler_place *place,
          uint64_t *out, size_t *count)
{
    statesampler s;
    int code = statesampler_init(&s, desc);
    if (code != STATESAMPLER_OK)
        return code;
    statesampler_at(&s, 1, out, count);
    statesampler_next(&s, out, count);
    return statesampler_locate(&s, out[0], place);
}
uint64_t probe_perm(uint64_t seed, uint64_t *out, size_t count);
uint64_t probe_perm(uint64_t seed, uint64_t *out, size_t count)
{
    statesampler_perm perm;
    statesampler_perm_init(&perm, 1000, seed, 2, 3);
    statesampler_perm_fill(&perm, 0, 1, out, count);
    return statesampler_perm_at(&perm, 0) + statesampler_perm_inverse(&perm, 0);
}
END
}

# stb_ds.h as a header of the program's own, not of the system: what its
# macros become here is then looked at, too. Its own lines are its affair.
stb_by_I() { # LANGUAGE COMMAND...
    STB_FLAGS=$(echo "$STB_FLAGS" | sed 's/-isystem */-I/g')
    { echo '#include "stb_ds.h"'
      source_of IMPLEMENTATION HOSTED STB_DS | grep -v stb_ds.h
    } | quietly compile "$@" $STRICT -Wno-error -O1
    ! grep '^[^ ]*statesampler\.h:[0-9]' said || {
        cat said
        return 1
    }
}

# Programs, without the header's functions where they can be compiled so: those
# are tested above.
clean_sources() { # PATTERNS COMMAND...
    sources=$(cd "$root" && echo $1)
    shift
    for source in $sources; do
        source=$root/$source
        [ -n "$STB_FLAGS" ] || ! grep -q 'stb_ds\.h' "$source" || continue
        functions=-DSTATESAMPLER_IMPLEMENTATION_INCLUDED
        ! grep -qE '^#define STATESAMPLER_STATIC|ssmp_' "$source" ||
            functions=
        "$@" -std=c99 $STRICT -Wmissing-prototypes -I. -Iexamples/extras $STB_FLAGS \
            $functions -c -o warn.o "$source"
    done
}

# The constants that a C++ file of the user's own reads, also of the headers
# beside this one.
old_style_casts() { # COMMAND...
    { source_of HOSTED
      awk '/^#define [A-Z_]*[(]/ { of_it = 1 } of_it; !/\\$/ { of_it = 0 }' \
          examples/extras/*.h
      echo 'extern const size_t sizes[8];'
      echo 'const size_t sizes[8] = {LEDGER_WORDS(64), LEDGER_WORDS(128),'
      echo 'PACK_WORDS(16, 4096), FIT_NUMBERS(16, 4096), HISTORY_BYTES(9),'
      echo 'HISTORY_MIX_BYTES(3, 9), SCHEDULE_BYTES(3), EDITS_BYTES(1, 2)};'
      echo 'extern const uint64_t constants[4];'
      echo 'const uint64_t constants[4] = {STATESAMPLER_MAX_SAMPLES,'
      echo 'STATESAMPLER_NONE, STATESAMPLER_OFF, STATESAMPLER_STATE_BYTES};'
      echo 'extern const int kind;'
      echo 'const int kind = STATESAMPLER_KIND(STATESAMPLER_EINVAL);'
    } | compile c++ warn.o "$@" -Wold-style-cast $STRICT
}

# Numbers wrap around on purpose, which clang's -fsanitize=integer would report.
# Only the core is compiled with it, as the tests wrap too.
wrap_around() { # OPTION...
    sanitize='-fsanitize=integer -fno-sanitize-recover=all'
    clang -std=c99 -O1 "$@" $sanitize -I. -c -o core.o "$root/tests/core.c"
    for test in vectors perm_map stages audit; do
        clang -std=c99 -O1 -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -I. -c \
            -o test.o "$root/tests/test_$test.c"
        clang $sanitize -o test test.o core.o -lm -lpthread
        quietly ./test reduced
    done
    # This one has the hosted part in it: only what is reported there counts.
    clang -std=c99 -O1 -fsanitize=integer -I. -o test \
        "$root/tests/test_hosted.c" -lm -lpthread
    ./test reduced >said 2>&1
    ! grep 'statesampler\.h:[0-9]' said
}

# What clang's analyzer follows through the code, as small and as fast code.
analysed() {
    for macros in '' ONLY_SHUFFLE "$optional"; do
        for level in -O0 -O2; do
            source_of IMPLEMENTATION $macros >all.c
            clang --analyze $level -std=c99 -I. $STB_FLAGS all.c 2>&1 |
                grep -A 3 'statesampler\.h:.*warning:' && return 1
        done
    done
    true
}

# With longer vectors, symbols.sh tests it. The optimiser, which warns of what it
# sees, is the same for each C and for each C++.
list_tests() {
    for compiler in gcc clang; do
        tool $compiler "no warning: $compiler" || continue
        for language in c99 c2x; do
            add_test "no warning of any combination: $compiler, $language" \
                combinations c $compiler -std=$language -Wmissing-prototypes
        done
        add_test "no warning, optimised: $compiler, c99" \
            optimised c $compiler -std=c99 -Wmissing-prototypes
        [ $compiler = clang ] ||
            add_test "no warning of what C++ has not: $compiler" \
                compatible $compiler -std=c99
        # clang warns before it optimises. The tests of the examples compile
        # those with CC.
        sources='bench/*.c examples/python/statesampler/*.c'
        case $compiler in
        gcc) level=-O1 ;;
        *) level=$only_look sources="$sources examples/*.c" ;;
        esac
        add_test "no warning in examples and bench: $compiler" \
            clean_sources "'$sources'" $compiler $level
        if [ -n "$STB_FLAGS" ]; then
            add_test "no warning, stb_ds.h a header of the program: $compiler" \
                stb_by_I c stb.o $compiler -std=c99
        fi
    done
    if tool clang '-fsanitize=integer'; then
        add_test 'clang -fsanitize=integer reports nothing of the core' wrap_around
    fi
    ! tool clang "no warning of clang's analyzer" ||
        add_test "no warning of clang's analyzer" analysed
    for compiler in g++ clang; do
        tool $compiler "no warning: $compiler, C++" || continue
        add_test "no old-style cast in C++ of a user's own: $compiler" \
            old_style_casts $compiler -std=c++98
        for language in c++98 c++11 c++20; do
            add_test "no warning of any combination: $compiler, $language" \
                combinations c++ $compiler -std=$language
        done
        add_test "no warning, optimised: $compiler, c++20" \
            optimised c++ $compiler -std=c++20
    done
}
