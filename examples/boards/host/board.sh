# board.sh - this computer. ../boards.sh says what is what.

board_name='this computer' board_short=computer
board_prefix=
board_compiler="${CC:-cc} -std=c99 $CFLAGS"
