#!/bin/sh
# format.sh - what `make format` runs: brings all C, C++ and CUDA into the style
# of .clang-format, by clang-format 14 alone, as versions differ.
#
#     sh tests/format.sh        rewrites files
#     sh tests/format.sh check  prints the lines that are not in that style
#     sh tests/format.sh list   prints the names of all files

cd "$(dirname "$0")/.." || exit 1

# By find, as an archive has no git.
sources() {
    find . -name build -prune -o -name node_modules -prune -o \
        -path ./venv -prune -o -type f \
        \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' \
        -o -name '*.ino' \) -print
}

[ "$1" != list ] || { sources; exit; }
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo 'skip format: clang-format 14 is not here'
elif [ "$1" = check ]; then
    sources | xargs clang-format --dry-run -Werror
else
    sources | xargs clang-format -i
fi
