#!/bin/sh
# deps.sh PACKAGE... - installs those that are missing, on Debian and its like,
# and says how far it is. It never fails: a test whose tool is not there says
# so and is left out.

by_hand() { # WHY PACKAGE...
    echo "deps: $1; to install by hand, or what corresponds to it here:"
    shift
    echo "   " "$@"
    exit 0
}

command -v apt-get >/dev/null || by_hand 'there is no apt-get' "$@"

missing=
for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
        grep -q 'ok installed' || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "deps: nothing is missing of $*"
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || by_hand 'neither root nor sudo' $missing
fi

mkdir -p build
log=build/deps.log

# Lists that are too old name packages that are gone. Where not one list can be
# fetched, no package can.
fetch_lists() {
    echo 'deps: apt-get update'
    $as_root apt-get update -o Acquire::Retries=0 \
        -o Acquire::http::Timeout=10 >$log 2>&1
    grep -qE '^(Get|Hit):' $log || by_hand "offline: $(grep -m 1 \
        -oE '(Could not|Temporary failure|Failed to).*' $log ||
        echo 'no package list can be fetched')" $missing
}

# Installs packages. Of apt's lines, one of twenty of each kind is printed, with
# its number of how many, and about how much time is left of that kind.
get() { # PACKAGE...
    # Debian's awk would wait for 4 KiB of lines.
    awk=awk
    ! awk -W version </dev/null 2>&1 | grep -q mawk || awk='awk -W interactive'
    total=$(apt-get install -s --no-install-recommends "$@" 2>/dev/null |
        grep -c '^Inst ')
    { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=20 "$@" </dev/null 2>&1
      echo "status $?"
    } | tee -a $log | $awk -v total="$total" '
        function now() { srand(); return srand() }
        function tell(what,    done, left) {
            done = ++count[what]
            if (done == 1) began[what] = now()
            if (done % 20 == 0 || done == total) {
                left = (now() - began[what]) * (total - done) / done
                print "deps: " what " " done " of " total \
                    (left < 60 ? "" : ", about " int(left / 60 + 0.5) \
                    " min left")
                fflush()
            }
        }
        /^Need to get|^After this operation/ { print "deps: " $0; fflush() }
        /^Get:/ { tell("fetched") }
        /^Unpacking / { tell("unpacked") }
        /^Setting up / { tell("set up") }
        /^status / { status = $2 }
        END { exit status != 0 }'
}

echo "deps: to install:$missing"
fetch_lists
get $missing && exit 0
# A package that does not exist must not keep out the others.
failed=
for package in $missing; do
    get "$package" || failed="$failed $package"
done
[ -z "$failed" ] || by_hand "apt-get failed, see $log" $failed
