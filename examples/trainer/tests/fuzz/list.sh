# list.sh - the harnesses for the trainer; tests/fuzz/harnesses.sh says what a
# line has.

mpi=examples/trainer/tests/fuzz/mpi
trainer=$(echo $(ls examples/trainer/*.c | grep -Ev '/(main|sampler)\.c$'))
cat <<END
yaml       libyaml  900 1000 examples/trainer/config*.c -lyaml
checkpoint openblas 120 150 -I$mpi $mpi/mpi.c $trainer \
    $(pkg-config --cflags openblas 2>/dev/null) -lyaml -lopenblas -pthread
END
