# crash.sh - a save whose system calls fail, kill or are lost.

# A broken one is noticed, and this one is not broken.
save_crashes() {
    made build/fuzz/crash_control
    made build/fuzz/crash_save
    (cd "$root" && python3 tests/fuzz/crash.py control build/fuzz/crash_control)
    (cd "$root" && python3 tests/fuzz/crash.py save build/fuzz/crash_save)
}

questions() {
    what='crashes of a save'
    tool strace "$what" && tool python3 "$what" || return 0
    # Some containers let no program trace another.
    if ! strace -o /dev/null true 2>/dev/null; then
        skip "$what" 'leave to trace a program'
    else
        ask 'a save at each of its system calls: failed, killed, power cut' \
            save_crashes
    fi
}
