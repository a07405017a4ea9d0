#!/bin/sh
# python.sh - prints a python3 that has torch; one line says so if none has.
# To import it would take seconds.
found='import importlib.util as i; exit(not i.find_spec("torch"))'
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c "$found" 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done
echo 'skip torch: no python3 here has it' >&2
exit 1
