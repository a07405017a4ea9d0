# bag.sh - examples/extras/bag.h, which games copy: in C and C++, with what looks for
# undefined behaviour.

bag_test() { # COMMAND...
    "$@" $STRICT -O1 -I. -o bag tests/bag.c && quietly ./bag &&
        sed -n 's/^bag: /note: /p' said
}

bag_checked() { # COMMAND...
    echo 'int main(void) { return 0; }' >empty.c
    "$@" -fsanitize=address,undefined -o empty empty.c 2>said || {
        echo "skip bag.h with sanitizers: $1 has none here"
        return
    }
    bag_test "$@" -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
}

# Where the highest byte of a number comes first.
bag_s390x() {
    s390x-linux-gnu-gcc -std=c99 -static $STRICT -O2 -I. -o bag tests/bag.c
    quietly qemu-s390x ./bag reduced
    sed -n 's/^bag: /note: /p' said
}

list_tests() {
    add_test 'bag.h: against lists, kills, forged states' bag_test "$CC" -std=c99
    for compiler in gcc clang; do
        tool $compiler "bag.h: $compiler" || continue
        add_test "bag.h: no undefined behaviour, $compiler" \
            bag_checked $compiler -std=c99
    done
    if tool s390x-linux-gnu-gcc 'bag.h: s390x' &&
        tool qemu-s390x 'bag.h: s390x'; then
        add_test 'bag.h: the same states on s390x' bag_s390x
    fi
    tool g++ 'bag.h: C++' || return 0
    for language in c++98 c++20; do
        add_test "bag.h: $language" bag_test g++ -x c++ -std=$language
    done
}
