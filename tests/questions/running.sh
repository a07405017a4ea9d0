# running.sh - what tests/run.sh promises about itself.

# Runs a `make test` in a session of its own, sends Ctrl-C's signal to it once a
# test runs, and asks that it ends with nothing left running, and no complaint.
interrupted() {
    cat >interrupt.py <<'PYTHON'
import os, signal, subprocess, sys, time

def members(session):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{name}/cmdline") as file:
                command = file.read().split("\0")
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(command)
    return found

def until(true, seconds):
    for _ in range(10 * seconds):
        if true():
            return True
        time.sleep(0.1)

run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True,
                       start_new_session=True, preexec_fn=lambda:
                       signal.signal(signal.SIGINT, signal.default_int_handler))
assert until(lambda: any("answer" in each for each in members(run.pid)), 60)
os.killpg(run.pid, signal.SIGINT)
out = run.communicate(timeout=60)[0]
left = members(run.pid)
assert run.returncode in (130, -signal.SIGINT), (run.returncode, out)
assert not left, left
complaints = [line for line in out.splitlines()
              if not line.startswith(("make", "skip "))]
assert not complaints, complaints
PYTHON
    ONLY='^test_.*full$' JOBS=4 MAKEFLAGS= \
        quietly python3 interrupt.py "$MAKE" -s -C "$root" test
}

refused() { # SENTENCE VARIABLE
    fails env MAKEFLAGS= "$MAKE" -s -C "$root" test "$2" ONLY='[+]'
    head -n 1 said | grep -qx "$1"
}

wrong_variables() {
    refused 'The C compiler nocc is not here: .*' CC=nocc
    for jobs in x 0 -1; do
        refused "JOBS is a whole number above 0, not $jobs" JOBS=$jobs
    done
}

# Names that would mean something else as patterns are found all the same. By
# hand the list has what stb_ds.h is needed for, as by make.
only() {
    (unset STB_FLAGS && cd "$root" &&
        ONLY='[+]|^test_mixture' sh tests/run.sh list) >all
    ! pkg-config --exists stb || grep -q '^test_mixture' all
    grep '[+]' all >names
    at_least 3 "$(wc -l <names)" 'names with a plus sign'
    name=$(head -n 1 names)
    # `choose` of tests/run.sh, which answers here, too: a list takes longer.
    for only in "$name" "[7/500] ok   $name (12 checks)" "[9/9] FAIL $name"; do
        awk '{ print "topic\t" $0 "\tcall" }' names >list
        (export run=. ONLY="$only"; choose)
        [ "$(cut -f 2 list)" = "$name" ]
    done
}

questions() {
    ask 'a C compiler that is not here, and wrong JOBS, get a sentence' \
        wrong_variables
    if tool g++ 'ONLY'; then
        ask 'ONLY takes a printed line, a part of a name or a pattern' only
    fi
    if tool python3 'Ctrl-C'; then
        ask 'Ctrl-C ends make test and all that it has started' interrupted
    fi
}
