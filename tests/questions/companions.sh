# companions.sh - the headers of examples that people copy beside the library.

# Those programs in one way.
companions() { # WAY full|reduced
    for name in edits shards; do
        try $1 $name $2
    done
}

questions() {
    ask 'edits.h, shards.h: as the definitions say' companions cc full
    for compiler in gcc clang; do
        tool $compiler "edits.h, shards.h: $compiler" || continue
        ask "edits.h, shards.h: $compiler, no undefined behaviour" \
            companions $compiler-sanitize reduced
    done
    for compiler in g++ clang++; do
        tool $compiler "edits.h, shards.h: $compiler" || continue
        case $compiler in g++) way=c++98 ;; *) way=clang++98 ;; esac
        ask "edits.h, shards.h: $compiler" companions $way reduced
    done
}
