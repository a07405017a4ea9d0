# inclusion.sh - however a program includes the header.

# Twice, the declarations first, after all of the C library.
included() { # LANGUAGE OBJECT COMMAND...
    { source_of $optional; source_of $optional; } | compile "$@"
    nm -g --defined-only "$2" | nothing
    { source_of $optional; source_of IMPLEMENTATION; source_of; } |
        compile "$@"
    nm -g --defined-only "$2" | grep -q 'T statesampler_load_file$'
    { for name in stdio stdlib string errno limits time math signal; do
          echo "#include <$name.h>"
      done
      source_of IMPLEMENTATION $optional
    } | compile "$@"
    nm -g --defined-only "$2" | grep -q 'T statesampler_load_file$'
}

# C++98 where stdint.h keeps the limits of its types to C, as on most targets
# without Linux.
without_limits() { # COMMAND...
    { echo '#include <stdint.h>'
      echo '#ifdef UINT64_MAX'
      echo '#error "this C++ has the limits: it is no test"'
      echo '#endif'
      source_of IMPLEMENTATION
    } | compile c++ inc.o "$@" -std=c++98 -ffreestanding -Wundef -Werror
}

# Without a system a sentence says that HOSTED is what is wrong.
hosted_needs_system() { # COMMAND...
    if source_of IMPLEMENTATION HOSTED |
        compile c inc.o "$@" -std=c99 -ffreestanding >said 2>&1 ||
        ! grep -m 1 error: said | grep -q \
            'HOSTED needs POSIX or Windows: leave it undefined here'; then
        cat said
        return 1
    fi
}

# An option that only a later include has is an error that says so.
too_late() {
    for macro in $optional; do
        if { source_of; source_of $macro; } |
            compile c inc.o $CC -std=c99 >said 2>&1 ||
            ! grep error: said | grep -q \
                "define STATESAMPLER_$macro before the first include"; then
            cat said
            return 1
        fi
    done
}

# Words that programs have for macros of their own: attributes and short names,
# and what could be called. Each must be left alone, also by the implementation.
# The functions are those of POSIX that it calls; those of C may have macros, as
# a program that wants another snprintf has. Last are words of clang's pragmas.
words='unused noinline always_inline aligned may_alias vector_size packed
    deprecated noreturn likely unlikely near far small huge pascal interface
    apply_to function'
calls='min max abs open close read write lseek fsync fcntl flock unlink rename
    opendir readdir closedir getpid push pop'

with_macros() { # LANGUAGE COMMAND...
    { printf '#include <%s.h>\n' stddef stdint errno fcntl stdio stdlib string \
          time dirent sys/file unistd ${x86:+immintrin}
      printf '#define %s poison poison\n' $words
      printf '#define %s(...) poison poison\n' $calls
      source_of IMPLEMENTATION HOSTED
      # It has clang's pragmas, too, but must have their words.
      printf '#undef %s\n' apply_to function
      echo '#include "examples/extras/ledger.h"'
    } >macros.c
    language=$1
    shift
    compile $language macros.o "$@" -Wno-pedantic <macros.c
    nm -g --defined-only macros.o | grep -q 'T statesampler_save_file$'
}

# Of the functions of POSIX that are called, none is left out above.
macros_of_all() {
    sed '/define SSMP_OS/d' statesampler.h | grep -o 'SSMP_OS([a-z]*)' |
        sed 's/.*(\(.*\))/\1/' | sort -u >called
    at_least 12 "$(wc -l <called)" functions
    printf '%s\n' $calls | sort | comm -13 - called | nothing
}

# Two files that share the implementation, and one with a copy of its own.
units() { # COMPILER_OF_MAIN COMPILER_OF_SHARED COMPILER_OF_STATIC
    $1 -I. -c -o main.o tests/units_main.c
    $2 -I. -c -o shared.o tests/units_shared.c
    $3 -I. -c -o static.o tests/units_static.c
    ${1%% *} -o units main.o shared.o static.o
    ./units
}

# clang 14 came to no end here with the vectors of 0.2.0.
link_time() {
    timeout 120 clang -std=c99 -O2 -flto -fuse-ld=lld -march=znver3 -I. \
        -o link_time "$root/examples/quickstart.c"
}

list_tests() {
    add_test "inclusion: twice, declarations first, after libc: $CC, C99" \
        included c inc.o $CC -std=c99 -pedantic -Werror
    add_test "inclusion: an option at a second include gets a sentence" too_late
    add_test "two files and a static copy: $CC" units "'$CC' '$CC' '$CC'"
    for command in gcc clang; do
        ! tool $command "inclusion after macros of a program: $command" ||
            for level in -O0 -O2; do
                add_test "inclusion after macros of a program: $command $level" \
                    with_macros c $command -std=c99 $level
            done
    done
    ! tool g++ 'inclusion after macros of a program: g++' ||
        add_test 'inclusion after macros of a program: g++' \
            with_macros c++ g++ -O2
    add_test 'inclusion after macros of a program: each function' macros_of_all
    if tool g++ 'inclusion in C++'; then
        add_test 'inclusion: twice, declarations first, after libc: g++, C++98' \
            included c++ inc.o g++ -std=c++98 -pedantic -Werror
        add_test 'two files and a static copy: C++ calls C' units "g++ '$CC' g++"
    fi
    for command in 'arm-none-eabi-g++ -mcpu=cortex-m0 -mthumb' avr-g++ \
        riscv64-unknown-elf-g++ x86_64-w64-mingw32-g++; do
        if tool ${command%% *} "C++98 without UINT64_MAX: $command"; then
            add_test "C++98 without UINT64_MAX: $command" without_limits $command
        fi
    done
    for command in 'arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb' avr-gcc \
        riscv64-unknown-elf-gcc 'clang --target=wasm32'; do
        if tool ${command%% *} "HOSTED without a system: $command"; then
            add_test "HOSTED without a system gets a sentence: $command" \
                hosted_needs_system $command
        fi
    done
    if tool "${NVCC:-nvcc}" 'inclusion in CUDA'; then
        add_test 'two files and a static copy: nvcc calls C' \
            units "'$NVCC -x cu' '$CC' '$NVCC -x cu'"
    fi
    if [ -n "$x86" ] && tool ld.lld 'optimised at link time'; then
        add_test 'optimised at link time: clang -flto -march=znver3' link_time
    fi
}
