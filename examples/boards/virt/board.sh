# board.sh - RISC-V, as qemu's board `virt` has it. ../boards.sh says what is
# what. rv32i has no multiplication, rv64imac has 64 bits.

board_variants='rv32i rv64imac'
board_core=${board_core:-rv32imc}
case $board_core in
rv64*)
    board_short=RV64 board_pointer=8 board_abi=lp64
    board_emulator=qemu-system-riscv64 board_linker='-m elf64lriscv'
    ;;
*)
    board_short=RISC-V board_pointer=4 board_abi=ilp32
    board_emulator=qemu-system-riscv32 board_linker='-m elf32lriscv'
    ;;
esac
board_name="RISC-V ($board_core, virt)"
board_prefix=riscv64-unknown-elf-
board_flags="-march=$board_core -mabi=$board_abi -misa-spec=2.2"
board_compiler="riscv64-unknown-elf-gcc $board_os $board_flags -mcmodel=medany"
board_link="-Wl,--gc-sections -nostdlib -T $board_folder/virt.ld -lgcc"
board_symbols='semihost.*|reset|vectors'
board_limits='
    code, perm                       1536
    code, sampler                    9900
    code, sampler and mix           16200
    flash, perm                      4000
    flash, a shuffle                 9400
    flash, a shuffle, ONLY_SHUFFLE   7500
    flash, sampler                  12000
    flash, sampler and mix          18300'

board_start() { # PROGRAM [COMMAND...]
    program=$1
    shift
    start_qemu "$program" "$@" $board_emulator -M virt -bios none \
        -monitor none -serial stdio
}
