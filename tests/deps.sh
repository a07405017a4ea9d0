#!/bin/sh
# deps.sh PACKAGE... - installs those that are missing, on Debian and its like.
# It never fails: a test whose tool is not there says so and is left out.

by_hand() {
    echo "deps: $1; to install by hand, or what corresponds to it here:"
    shift
    echo "   " "$@"
    exit 0
}

command -v apt-get >/dev/null || by_hand "there is no apt-get" "$@"

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
    command -v sudo >/dev/null || by_hand "neither root nor sudo" $missing
fi

mkdir -p build
log=build/deps.log
: >$log
known() {
    apt-cache policy "$1" | grep 'Candidate:' | grep -qv '(none)'
}
fetch_lists() {
    echo "deps: apt-get update"
    $as_root apt-get update >>$log 2>&1
}
get() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends "$@" </dev/null >>$log 2>&1
}

# The lists are fetched only where they are too old to know or to find a
# package; after that, one that does not exist must not keep out the others.
echo "deps: installing$missing"
updated=
for package in $missing; do
    if [ -z "$updated" ] && ! known "$package"; then
        fetch_lists
        updated=yes
    fi
done
get $missing && exit 0
[ -n "$updated" ] || fetch_lists
get $missing && exit 0
failed=
for package in $missing; do
    get "$package" || failed="$failed $package"
done
[ -z "$failed" ] || by_hand "apt-get failed, see $log" $failed
