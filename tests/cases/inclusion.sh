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
