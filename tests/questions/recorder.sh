# recorder.sh - which samples were in a step, and where is a sample: from the
# state of a mix, by examples/recall.h.

questions() {
    ask 'recall.h: any turn of a mix is what was served, through changes' \
        try cc recall full
    for compiler in gcc clang; do
        tool $compiler "recall.h: $compiler" || continue
        ask "recall.h: $compiler, without undefined behaviour" \
            try $compiler-sanitize recall reduced
    done
    for compiler in g++ clang++; do
        tool $compiler "recall.h: $compiler" || continue
        case $compiler in g++) way=c++98 ;; *) way=clang++98 ;; esac
        ask "recall.h: $compiler" try $way recall reduced
    done
    if tool s390x-linux-gnu-gcc 'recall.h: s390x' &&
        tool qemu-s390x 'recall.h: s390x'; then
        ask 'recall.h: s390x, where the first byte is the highest' \
            try s390x recall reduced qemu-s390x
    fi
}
