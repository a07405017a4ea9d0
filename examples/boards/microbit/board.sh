# board.sh - a BBC micro:bit, as qemu-system-arm has it. ../boards.sh says what
# is what.

board_name='Cortex-M0 (BBC micro:bit)' board_short=Cortex-M0
board_prefix=arm-none-eabi- board_pointer=4
board_flags='-mcpu=cortex-m0 -mthumb'
board_compiler="arm-none-eabi-gcc $board_os $board_flags -DBOARD_IS_QEMU"
board_link="-Wl,--gc-sections -nostdlib -T $board_folder/microbit.ld -lgcc"
board_emulator=qemu-system-arm
board_symbols='semihost|end_emulator|set_flash|slot_at|reset|vectors'
board_slots=flash board_slot_step=1024
board_limits='
    code, perm                       1536
    code, sampler                    7600
    code, sampler and mix           12500
    flash, perm                      2200
    flash, a shuffle                 6400
    flash, a shuffle, ONLY_SHUFFLE   5300
    flash, sampler                   8200
    flash, sampler and mix          13100'

board_start() { # PROGRAM [COMMAND...]
    program=$1
    shift
    # Its answers go nowhere, and only the serial line to the output.
    set -- "$@" sh -c 'exec "$@" 3>&1 >/dev/null' sh \
        $board_emulator -M microbit -qmp stdio -serial file:/dev/fd/3
    [ ! -e flash ] ||
        set -- "$@" -device loader,file=flash,addr=0x3f800,force-raw=on
    start_qemu "$program" "$@"
}

board_last_words() {
    cat <<'END'
{ "execute": "qmp_capabilities" }
{ "execute": "stop" }
{ "execute": "memsave",
  "arguments": { "val": 260096, "size": 2048, "filename": "flash" } }
{ "execute": "quit" }
END
}

# A new chip's flash is erased, the emulator's is 0.
board_erase() {
    head -c 2048 /dev/zero | tr '\0' '\377' >flash
}
