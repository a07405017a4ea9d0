#!/bin/sh
# run.sh - runs the tests of tests/questions/*.sh, JOBS at a time, and prints a
# line for each, in order:
#     [7/500] ok   TEST      [8/500] FAIL TEST, and what it printed
#     skip TEST: TOOL is not here
# The last line is the sum. ONLY='...' runs only the tests whose name contains
# this text or matches it as a pattern; a line printed before works too. CHECK=1
# runs what a C compiler alone can run, which is `make check`. `sh tests/run.sh
# list` prints the names of the tests, by ONLY too.
# build/test/times has the user and system time that each test took.
# tests/README.md says where a new test goes.

export LC_ALL=C
export CC="${CC:-cc}" JOBS="${JOBS:-2}" MAKE="${MAKE:-make}"
# As in the Makefile, for who calls this by hand.
export STB_FLAGS="${STB_FLAGS-$(pkg-config --cflags stb 2>/dev/null |
    sed 's/-I/-isystem/')}"

# What `make check` runs: the topics, and a pattern for the names.
check_topics='tests inclusion texts'
check_names=': cc, full$|: twice, .*, C99$|two files|every block'

# Lists the tests of all topics: a topic, a name and a call on each line.
list_questions() {
    topics=$check_topics
    [ -n "$CHECK" ] || topics=$(cd tests/questions && echo *.sh)
    for topic in $topics; do
        file=tests/questions/${topic%.sh}.sh
        topic=$(basename $file .sh)
        (
            . tests/common.sh
            . $file
            questions
        )
    done
}

# Answers question NUMBER in a folder of its own, where the calls find the
# header and the tests. An endless loop ends after five minutes of processor
# time; drawn cases, in an emulator, may take longer.
answer() { # NUMBER
    . tests/common.sh
    root=$PWD folder=$run/$1
    IFS='	' read -r topic question call <<END
$(sed -n "$1p" $run/list)
END
    . tests/questions/$topic.sh
    mkdir -p $folder/tmp
    # The name of a socket in it, as PyTorch makes them, has 107 bytes at most.
    tmp=$root/$folder/tmp
    if [ ${#tmp} -gt 70 ]; then
        tmp=$(TMPDIR= mktemp -d) || exit 1
        echo "$tmp" >>$run/elsewhere
    fi
    limit=300
    [ -z "$drawn" ] || limit=7200
    ln -s "$root/statesampler.h" "$root/README.md" "$root/tests" \
        "$root/examples" $folder
    ulimit -t $limit
    began=$(date +%s)
    (
        set -e
        cd $folder
        export TMPDIR="$tmp"
        eval "$call"
    ) >$folder/out 2>&1 </dev/null
    status=$?
    report >$folder.new
    # The processor time of all that the call has started, by the shell.
    times >$folder/times
    printf '%s\t%s\n' "$(sed -n 2p $folder/times)" "$question" >$folder.time
    rm -rf $folder "$tmp"
    mv $folder.new $folder.txt
}

# What an answer printed, as lines. A call that prints such lines itself, as
# examples does, is taken at its word, unless it broke down. One that prints
# nothing but what it skips is skipped.
report() {
    if grep -q '^\(ok  \|FAIL\) ' $folder/out; then
        grep -v '^[0-9]* passed' $folder/out
        [ $status = 0 ] || grep -q '^FAIL' $folder/out ||
            echo "FAIL $question (status $status)"
    elif [ $status = 0 ] && grep -q '^skip ' $folder/out &&
        ! grep -qv '^skip ' $folder/out; then
        cat $folder/out
    elif [ $status = 0 ]; then
        note=$(sed -n 's/^note: //p' $folder/out | tail -n 1)
        echo "ok   $question${note:+ ($note)}"
        grep '^skip ' $folder/out
    else
        echo "FAIL $question"
        sed 's/^/    /' $folder/out | tail -n 40
        case $status in # by timeout, by its KILL, by ulimit
        124 | 137 | 152)
            echo "    did not end in $(($(date +%s) - began)) s"
            ;;
        esac
    fi
}

# Prints the processes of this run: those that inherited its folder's name.
# (A process's own environment is the one it was started with, so this shell is
# not among them.) Where there is no /proc, xargs alone.
processes() {
    if [ -r /proc/self/environ ]; then
        (
            name=$run
            unset run # else it would find itself
            grep -lzsx "run=$name" /proc/[0-9]*/environ | cut -d / -f 3
        )
    else
        echo $children
    fi
}

# Ends everything that runs for this run, for good after three seconds.
# Background processes ignore Ctrl-C, so the terminal's signal is not enough.
end_processes() {
    signal=TERM
    for turn in $(seq 50); do
        found=$(processes) && [ -n "$found" ] || break
        kill -$signal $found 2>/dev/null
        sleep 0.1
        [ $turn -lt 30 ] || signal=KILL
    done
}

clean_up() {
    [ ! -e $run/elsewhere ] || while read -r tmp; do
        rm -rf "$tmp"
    done <$run/elsewhere
    rm -rf $run
}

stop() { # STATUS
    trap '' INT TERM HUP
    end_processes
    exit "$1"
}

# Every half minute a line with the time that is left, if what is left takes as
# long as what is done.
tell_time() { # COUNT
    now=$(($(date +%s) - began))
    [ $now -ge $next ] || return 0
    finished=$(ls $run | grep -c '^[0-9]*\.txt$')
    [ "$finished" -lt "$1" ] || return 0
    next=$((now + 30))
    left=$((now * ($1 - finished) / finished))
    if [ $left -ge 90 ]; then
        left="$(((left + 30) / 60)) minutes"
    else
        left="$left seconds"
    fi
    echo "about $left left: $finished of $1 are done"
}

# Has the list answered by children, and prints the answers in its order.
answer_all() {
    count=$(wc -l <$run/list) began=$(date +%s) next=30
    seq "$count" | xargs -n 1 -P "$JOBS" sh tests/run.sh answer &
    children=$!
    cat $run/skipped
    for number in $(seq "$count"); do
        while [ ! -e $run/$number.txt ] && kill -0 $children 2>/dev/null; do
            sleep 0.3
        done
        [ -e $run/$number.txt ] ||
            echo "FAIL question $number got no answer" >$run/$number.txt
        tell_time $count
        sed -e "s#^ok  #[$number/$count] &#" \
            -e "s#^FAIL#[$number/$count] &#" $run/$number.txt
    done
    wait $children
    cat $run/*.time >build/test/times
    cat $run/skipped $run/*.txt >$run/log
    passed=$(grep -c '^ok ' $run/log)
    failed=$(grep -c '^FAIL ' $run/log)
    skipped=$(grep -c '^skip ' $run/log)
    [ "$skipped" = 0 ] && skipped= || skipped=", $skipped skipped"
    # Again where one looks first: the answers are hundreds of lines.
    awk '/^(ok  |skip )/ { said = 0 } /^FAIL/ { said = 1 } said' $run/log
    echo "$passed passed, $failed failed$skipped"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# Leaves on the list what ONLY names: as it was printed, perhaps with its number
# and its note, or a part of it, or a pattern.
choose() {
    awk -F '\t' 'BEGIN {
            only = ENVIRON["ONLY"]
            sub(/^\[[0-9]+\/[0-9]+\] /, "", only)
            sub(/^(ok  |FAIL) /, "", only)
        }
        only == $2 || index(only, $2 " (") == 1' $run/list >$run/some
    [ -s $run/some ] || awk -F '\t' 'index($2, ENVIRON["ONLY"])' \
        $run/list >$run/some
    [ -s $run/some ] || awk -F '\t' '$2 ~ ENVIRON["ONLY"]' \
        $run/list >$run/some 2>/dev/null
    mv $run/some $run/list
    [ -s $run/list ] || {
        cat $run/skipped
        echo "no test has this name or matches this pattern: $ONLY"
        exit 1
    }
}

main() {
    if [ "$1" = answer ]; then
        answer "$2"
        exit 0
    fi
    command -v ${CC%% *} >/dev/null || {
        echo "The C compiler ${CC%% *} is not here: CC=... names another."
        exit 1
    }
    case $JOBS in
    *[!0-9]* | 0*)
        echo "JOBS is a whole number above 0, not $JOBS"
        exit 1
        ;;
    esac
    # A folder for each run, so that two at a time do not mix.
    run=build/test/run.$$
    export run
    mkdir -p $run
    trap clean_up EXIT
    trap 'stop 130' INT
    trap 'stop 143' TERM HUP
    : >$run/list
    : >$run/skipped
    list_questions
    [ -z "$CHECK" ] || {
        grep '^skip test_' $run/skipped >$run/some
        mv $run/some $run/skipped
        awk -F '\t' -v names="$check_names" '$2 ~ names && $2 !~ / calls C$/' \
            $run/list >$run/some
        mv $run/some $run/list
    }
    [ -z "$ONLY" ] || choose
    if [ "$1" = list ]; then
        cut -f 2 $run/list
    else
        answer_all
    fi
}

main "$@"
