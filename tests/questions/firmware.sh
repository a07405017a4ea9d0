# firmware.sh - the same numbers on every target there is an emulator for.

. examples/firmware/boards.sh

# Learns through power cuts, to the weights of this computer: `make firmware`
# in short.
learns() { # BOARD
    quietly sh examples/firmware/run.sh learned 3 $1
    sed -n 's,^ok .*): ,note: ,p' said | grep .
}

# What a board prints, by its emulator.
checksum_on() { # BOARD
    link_for $1 checksum.elf tests/checksum.c $(echo $STRICT) &&
        run_on $1 ./checksum.elf | tr -d '\r' | grep '^checksum' >here
    note "$("$(prefix_of $1)size" checksum.elf | awk 'NR == 2 {
        print $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }')"
}

# What a program of a compiler prints, perhaps by a runner.
checksum_by() { # RUNNER|- COMMAND...
    runner=$1
    shift
    [ "$runner" != - ] || runner=
    export WINEDEBUG=-all WINEPREFIX="$PWD/wine"
    "$@" -I. -Iexamples/firmware -o checksum.exe tests/checksum.c \
        examples/firmware/sampler.c examples/firmware/host.c
    [ "$runner" != wine ] || wineboot -i >/dev/null 2>&1
    $runner ./checksum.exe | tr -d '\r' >here
    [ "$runner" != wine ] || wineserver -w
    note
}

checksum_wasm() { # FLAG...
    for name in tests/checksum examples/firmware/sampler; do
        clang --target=wasm32 -std=c99 -O2 -ffreestanding "$@" -I. \
            -Iexamples/firmware -c -o $(basename $name).o $name.c
    done
    wasm-ld -mwasm32 --no-entry --allow-undefined --export=main \
        -o checksum.wasm checksum.o sampler.o
    node tests/checksum.mjs checksum.wasm >here
    note
}

# `here` must be what this computer's compiler gives.
note() { # [TEXT]
    link_for host checksum.host tests/checksum.c && ./checksum.host >there
    grep -q '^checksum [0-9a-f]* of [1-9]' there
    cmp here there || {
        cat here there
        return 1
    }
    sed "s/^checksum/note:/${1:+; s/\$/, $1/}" here
}

questions() {
    for board in $boards; do
        missing=$(missing_for $board)
        if [ -n "$missing" ]; then
            skip "firmware and checksum on $board" $missing
            continue
        fi
        ask "the checksum of every part: $(name_of $board)" checksum_on $board
        ask "firmware learns through power cuts: $(name_of $board)" \
            learns $board
    done
    while read -r runner command; do
        if tool ${command%% *} "the checksum of every part: $command" &&
            { [ $runner = - ] || tool $runner \
                "the checksum of every part: $command"; }; then
            ask "the checksum of every part: $command" \
                checksum_by $runner $command
        fi
    done <<END
- gcc -std=c99 -O3
- clang -std=c99 -O3
- tcc
qemu-arm arm-linux-gnueabihf-gcc -std=c99 -O2 -static
qemu-aarch64 aarch64-linux-gnu-gcc -std=c99 -O2 -static
qemu-i386 i686-linux-gnu-gcc -std=c99 -O2 -static
qemu-s390x s390x-linux-gnu-gcc -std=c99 -O2 -static
wine x86_64-w64-mingw32-gcc -std=c99 -O2 -static
END
    what='the checksum of every part: wasm32'
    if tool clang "$what" && tool wasm-ld "$what" && tool node "$what"; then
        ask "$what" checksum_wasm
        ask "$what, with vectors" checksum_wasm -msimd128
    fi
}
