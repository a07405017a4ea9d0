# style.sh - the header stays one that a person can read.

questions() {
    tool pmccabe 'complexity and length of functions' || return 0
    ask 'complexity at most 15, at most 5 functions above 10; 60 lines' \
        sh tests/complexity.sh
}
