#!/bin/sh
# bare.sh [SUITE[:arm64]...] - the wheel of build/packages in Debians with Python
# and pip alone, no compiler: installed without a network, killed and resumed. The
# suites are an old one, the newest, and that for AArch64 in an emulator, unless
# others are named. Needs root, and Debian's packages debootstrap and qemu-user.
# The roots are kept in build/bare.

export LC_ALL=C
wheel=$(echo build/packages/statesampler-*.whl)
[ $# -gt 0 ] || set -- bullseye sid sid:arm64

skip() {
    echo "skip the bare Debians: $*"
    exit 0
}

[ -e "$wheel" ] || skip 'there is no wheel: make packages'
[ "$(id -u)" = 0 ] || skip 'only root can make one'
for tool in debootstrap qemu-aarch64; do
    command -v $tool >/dev/null || skip "$tool is not here"
done

# An emulator reads another architecture's packages, which only are unpacked.
make_root() { # SUITE ARCHITECTURE
    [ ! -e "$root/ready" ] || return 0
    echo "bare: making a root of $1, $2"
    rm -rf "$root"
    mkdir -p build/bare
    foreign=
    [ "$2" != arm64 ] || foreign='--foreign --arch=arm64'
    debootstrap --variant=minbase --include=python3,python3-pip $foreign "$1" \
        "$root" >"$root.log" 2>&1 ||
        skip "debootstrap failed: $(tail -n 1 "$root.log")"
    if [ -n "$foreign" ]; then
        for package in "$root"/var/cache/apt/archives/*.deb; do
            dpkg-deb -x "$package" "$root"
        done
    fi
    : >"$root/ready"
}

# A root's Python, and how it calls itself; what it reads is in `at`.
choose_python() { # ARCHITECTURE
    if [ "$1" = arm64 ]; then
        at=$root
        itself="$(command -v qemu-aarch64) -L $root $root/usr/bin/python3"
        python="env -i PATH=/none PYTHONPATH=$at/site $itself"
    else
        at= itself=/usr/bin/python3
        python="chroot $root /usr/bin/env -i PATH=/usr/bin PYTHONPATH=/site"
        for compiler in cc gcc clang tcc; do
            ! $python sh -c "command -v $compiler" || exit 1
        done
        python="$python $itself"
    fi
}

for name; do
    suite=${name%:*} architecture=$(dpkg --print-architecture)
    [ "$suite" = "$name" ] || architecture=${name#*:}
    root=$PWD/build/bare/$suite-$architecture
    make_root $suite $architecture
    choose_python $architecture
    rm -rf "$root/site"
    cp "$wheel" examples/python/tests/killed.py "$root"
    $python -m pip install -q --no-index --no-cache-dir --target "$at/site" \
        "$at/${wheel##*/}" 2>"$root.log" || {
        cat "$root.log"
        exit 1
    }
    said=$($python -B "$at/killed.py" $itself -B) || exit 1
    what=$($python -c 'import platform, statesampler
print(statesampler.__version__, "on Python", platform.python_version(),
      platform.machine())') || exit 1
    echo "bare: $suite: $what: $said"
done
