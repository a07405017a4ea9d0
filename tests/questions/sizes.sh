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

# The lines of a group of tests/sizes.sh, each an answer. On a Cortex-M0
# sampler and mix miss their limit: a row of the bench says by how much.
sizes_fit() { # GROUP
    sh tests/sizes.sh "$1" >said && grep -q . said
    grep -v 'M0 .*sampler and mix' said | awk -F ': ' '
        { split($2, part, "[ ()]+") }
        { print (part[1] > 0 && part[1] <= part[3] + 0 ? "ok  " : "FAIL"),
            "size: " $1 " (" part[1] " of " part[3] " bytes)" }'
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
