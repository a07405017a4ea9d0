# recorder.sh - which samples were in a step, and where is a sample: from a
# state, by examples/extras/recorder.h, and from that of a mix, by examples/extras/recall.h.

in_many_ways() { # HEADER TEST
    for compiler in gcc clang; do
        tool $compiler "$1: $compiler" || continue
        add_test "$1: $compiler, without undefined behaviour" \
            try $compiler-sanitize $2 reduced
    done
    for compiler in g++ clang++; do
        tool $compiler "$1: $compiler" || continue
        case $compiler in g++) way=c++98 ;; *) way=clang++98 ;; esac
        add_test "$1: $compiler" try $way $2 reduced
    done
    if tool s390x-linux-gnu-gcc "$1: s390x" && tool qemu-s390x "$1: s390x"; then
        add_test "$1: s390x, where the first byte is the highest" \
            try s390x $2 reduced qemu-s390x
    fi
}

list_tests() {
    add_test 'recall.h: any turn of a mix is what was served, through changes' \
        try cc recall full
    in_many_ways recall.h recall
    add_test 'recorder.h: a state answers if the run is said to be straight' \
        try cc recorder full
    in_many_ways recorder.h recorder
}
