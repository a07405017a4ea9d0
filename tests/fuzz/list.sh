# list.sh - the harnesses for the header; harnesses.sh says what a line has.

cat <<'END'
perm       -        200 1000
desc       -        400 1000
state      -        300 1000
mix        -        500 1000
mixture    stb_ds.h 700 1000 -DFUZZ_STB_DS
END
