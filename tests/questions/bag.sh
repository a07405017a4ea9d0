# bag.sh - examples/bag.h, which games copy: in C and C++, with what looks for
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

questions() {
    ask 'bag.h: against lists, kills, forged states' bag_test "$CC" -std=c99
    for compiler in gcc clang; do
        tool $compiler "bag.h: $compiler" || continue
        ask "bag.h: no undefined behaviour, $compiler" \
            bag_checked $compiler -std=c99
    done
    tool g++ 'bag.h: C++' || return 0
    for language in c++98 c++20; do
        ask "bag.h: $language" bag_test g++ -x c++ -std=$language
    done
}
