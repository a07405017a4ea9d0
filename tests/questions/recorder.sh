# recorder.sh - which samples were in a step, and where is a sample: from the
# state of a mix, by examples/recall.h.

recall() { # full|reduced RUNNER COMMAND...
    amount=$1 runner=$2
    shift 2
    quietly "$@" $STRICT -I. -DSTATESAMPLER_IMPLEMENTATION tests/recall.c \
        -o recall
    quietly $runner ./recall $amount
    sed -n '1s/^/note: /p' said
}

questions() {
    ask 'recall.h: any turn of a mix is what was served, through changes' \
        recall full env ${CC:-cc} -std=c99 -Wmissing-prototypes -O1
    for compiler in gcc clang; do
        tool $compiler "recall.h: $compiler" || continue
        ask "recall.h: $compiler, without undefined behaviour" \
            recall reduced env $compiler -std=c99 -Wmissing-prototypes -O1 \
            -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
    done
    for compiler in g++ clang++; do
        tool $compiler "recall.h: $compiler" || continue
        ask "recall.h: $compiler" recall reduced env $compiler -std=c++98 -x c++
    done
    if tool s390x-linux-gnu-gcc 'recall.h: s390x' &&
        tool qemu-s390x 'recall.h: s390x'; then
        ask 'recall.h: s390x, where the first byte is the highest' \
            recall reduced qemu-s390x s390x-linux-gnu-gcc -std=c99 -O1 -static
    fi
}
