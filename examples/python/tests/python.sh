#!/bin/sh
# python.sh [MODULE...] - prints a python3 that has these modules, by default
# torch; one line says so if none has. To import torch would take seconds. Only
# a file is a module: our folder `build` is none.
[ $# -gt 0 ] || set -- torch
found='from importlib.util import find_spec as find; import sys
exit(not all(find(each) and find(each).origin for each in sys.argv[1:]))'
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c "$found" "$@" 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done
echo "skip $1: no python3 here has $*" >&2
exit 1
