# sizes.sh - memory, code and stack stay below their limits.

# The structs have at most the manual's sizes, on machines of every word size.
# What examples/into/bindings.md says of 64 bits is exact.
structs() { # COMMAND...
    set -- $(sed -n "s/^   - A sampler is at most \([0-9]*\) bytes, a source \
\([0-9]*\), a mix \([0-9]*\)\..*/\1 \2 \3/p" statesampler.h) "$@"
    { source_of
      cat <<END
typedef char sampler[sizeof(statesampler) <= $1 ? 1 : -1];
typedef char source[sizeof(statesampler_source) <= $2 ? 1 : -1];
typedef char exact[(sizeof(statesampler_source) == $2 &&
    sizeof(statesampler_desc) == 6 * 8 + 7 * 4 + 4) || sizeof(void *) < 8 ?
    1 : -1];
typedef char mix[sizeof(statesampler_mix) <= $3 ? 1 : -1];
struct aligned { char c; statesampler sampler; };
typedef char align[sizeof(struct aligned) <= sizeof(statesampler) + 8 ?
    1 : -1];
END
    } >structs.c
    shift 3
    compile c structs.o "$@" -std=c99 -ffreestanding <structs.c
}

# A group of tests/sizes.sh.
sizes_fit() { # GROUP
    quietly sh tests/sizes.sh "$1"
    cat said
    grep -q '[1-9][0-9]* bytes (' said
}

list_tests() {
    for command in "$CC" 'clang --target=wasm32' arm-linux-gnueabihf-gcc \
        aarch64-linux-gnu-gcc s390x-linux-gnu-gcc \
        'arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb'; do
        if tool ${command%% *} "sizes of the structs: $command"; then
            add_test "sizes of the structs: $command" structs $command
        fi
    done
    sh tests/sizes.sh list >$lists/sizes
    sed '/code and flash/d' $lists/sizes | skips
    # Code and flash are tested with the prices of the boards, in their folder.
    sed -n -e '/code and flash/d' -e 's/^size //p' $lists/sizes |
        while read -r group; do
            add_test "sizes: $group" sizes_fit "'$group'"
        done
}
