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

# The lines of a group of tests/sizes.sh, each an answer.
sizes_fit() { # GROUP
    sh tests/sizes.sh "$1" >said && grep -q . said
    sed -e 's/^\(.*[1-9][0-9]* bytes (.*)\)$/ok   size: \1/' -e t \
        -e 's/^\(.*\) MISSED$/FAIL size: \1/' -e t -e 's/^/FAIL /' said
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
    sed -n 's/^size //p' $run/sizes | while read -r group; do
        ask "sizes: $group" sizes_fit "'$group'"
    done
}
