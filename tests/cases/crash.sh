# crash.sh - a save whose system calls fail, kill or are lost.

# A broken one is noticed, and this one is not broken.
save_crashes() {
    made build/fuzz/crash_control
    made build/fuzz/crash_save
    (cd "$root" && python3 tests/fuzz/crash.py control build/fuzz/crash_control)
    (cd "$root" && python3 tests/fuzz/crash.py save build/fuzz/crash_save)
}

# On a disk with room for the old file and a page or none: an error that says
# so, the old file, and nothing left of the new one; then room again.
full_disk() { # PROGRAM, in a folder that is the disk
    says() { # ANSWER WORDS...
        wanted=$1
        shift
        said=$("$program" "$@")
        [ "$said" = "$wanted" ] || {
            echo "$*: $said, not $wanted"
            exit 1
        }
    }
    program=$1
    says 'no error' save state 1 # two pages of the eight
    for size in 20480 24576; do
        head -c $size /dev/zero >other
        for number in 17 27 37; do # three pages
            says 'No space left on device' save state $number
            says 1 load state
            [ "$(echo *)" = 'other state' ] || {
                echo "left:" *
                exit 1
            }
        done
        rm other
    done
    says 'no error' save state 17
    says 17 load state
}

# The disk is this test's alone: it ends with the process.
full_disks() {
    made build/fuzz/crash_save
    mkdir disk
    quietly unshare -rm sh -ec "mount -t tmpfs -o size=32k none disk
        . '$root/tests/cases/crash.sh'
        cd disk
        full_disk '$root/build/fuzz/crash_save'"
}

list_tests() {
    what='a save on a full disk'
    if ! unshare -rm mount -t tmpfs none /mnt 2>/dev/null; then
        skip "$what" 'leave to mount a disk'
    else
        add_test "$what: the old file is whole, and nothing is left" full_disks
    fi
    what='crashes of a save'
    tool python3 "$what" || return 0
    missing=$(python3 tests/fuzz/crash.py missing)
    if [ -n "$missing" ]; then
        skip "$what" "$missing"
    else
        add_test 'a save at each of its system calls: failed, killed, power cut' \
            save_crashes
    fi
}
