#!/bin/sh
# newest.sh [SUITE] - what the newest Debian has, on this code: builds a root of
# that suite (sid) in build/newest, installs its compilers, Python, torch,
# accelerate, transformers and node, and runs there the tests of the core, of
# extras and of Python. Needs root, and Debian's packages debootstrap and
# util-linux. The root is kept and brought up to date.
#     ONLY=REGEX   other tests than these
#     JOBS=2       so many at a time

export LC_ALL=C
suite=${1:-sid}
root=$PWD/build/newest/$suite
log=$PWD/build/newest/$suite.log
# Those that other versions of tools can change. What only counts bytes or lines,
# or needs a cross compiler, belongs to the suite that it was measured on.
only=${ONLY:-'^(test_[a-z_]*: (cc|clang|c\+\+20),|[a-z0-9_]*[.]h: (cc|c\+\+20),|vectors, no|freestanding, no|no warning|each header|no old-style|ggml|PyTorch)'}
packages='gcc g++ clang make cmake git procps pkg-config libstb-dev nodejs
    libggml-dev libggml0 python3-torch python3-numpy python3-accelerate
    python3-transformers python3-safetensors python3-setuptools python3-pip
    python3-venv'

# A suite that cannot be installed today says nothing about this code.
skip() {
    echo "skip the newest Debian: $*"
    echo '0 passed, 0 failed'
    exit 0
}

# Mounts are this process's own, so that they end with it.
[ -n "$NEWEST_ALONE" ] || {
    [ "$(id -u)" = 0 ] || skip 'only root can make one'
    for tool in debootstrap unshare; do
        command -v $tool >/dev/null || skip "$tool is not here"
    done
    unshare --mount true 2>/dev/null || skip 'nothing can be mounted here'
    NEWEST_ALONE=1 exec unshare --mount --propagation private sh "$0" "$suite"
}

inside() { # COMMAND...
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        USE_LIBUV=0 GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 "$@"
}

# Debian's mirrors let a list of an unstable suite grow old.
apt() { # COMMAND...
    inside apt-get -o Acquire::Check-Valid-Until=false -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=20 "$@" >>"$log" 2>&1
}

mkdir -p build/newest
: >"$log"
[ -e "$root/ready" ] || {
    echo "newest: making a root of $suite"
    rm -rf "$root"
    debootstrap --variant=minbase "$suite" "$root" >>"$log" 2>&1 ||
        skip "debootstrap failed: $(tail -n 1 "$log")"
}
for folder in proc sys dev dev/pts dev/shm; do
    mount --bind "/$folder" "$root/$folder" 2>>"$log" ||
        skip "$(tail -n 1 "$log")"
done
echo 'newest: installing packages'
apt update && apt install -y --no-install-recommends $packages && apt clean ||
    skip "apt-get failed: $(tail -n 1 "$log")"
: >"$root/ready"
inside dpkg-query -W -f '${Package} ${Version}\n' gcc clang cmake nodejs \
    libggml-dev python3 python3-torch python3-numpy python3-accelerate \
    python3-transformers | sed 's/^/newest: /; s/, $//'

rm -rf "$root/project"
mkdir "$root/project"
tar c --exclude=./build --exclude=./.git . | tar x -C "$root/project"
# The tools that are not here are those of tests that are not for here.
{
    inside env "ONLY=$only" "JOBS=${JOBS:-2}" make -s -C /project test 2>&1
    echo $? >"$root/status"
} | grep -v '^skip '
exit "$(cat "$root/status")"
