#!/bin/sh
# run.sh - what `make test` runs: asks the questions of tests/questions/*.sh,
# JOBS at a time, and prints the answers in their order, one line each:
#     [7/500] ok   QUESTION      [8/500] FAIL QUESTION, and what it printed
#     skip QUESTION: TOOL is not here
# The last line is the sum. ONLY=pattern asks only the questions it matches.
# build/test/times has the user's and the system's time that each one took.
# tests/README.md says where a new question goes.

export LC_ALL=C
export CC="${CC:-cc}" JOBS="${JOBS:-2}" MAKE="${MAKE:-make}"

# Prints the questions of all topics: a topic, a question and a call a line.
list_questions() {
    for file in tests/questions/*.sh; do
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
    [ ${#tmp} -le 70 ] || tmp=$(TMPDIR= mktemp -d) || exit 1
    limit=300
    [ -z "$drawn" ] || limit=7200
    for name in statesampler.h README.md tests examples; do
        ln -s "$root/$name" $folder
    done
    ulimit -t $limit
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
# examples does, is taken at its word, unless it broke down.
report() {
    if grep -q '^\(ok  \|FAIL\) ' $folder/out; then
        grep -v '^[0-9]* passed' $folder/out
        [ $status = 0 ] || grep -q '^FAIL' $folder/out ||
            echo "FAIL $question (status $status)"
    elif [ $status = 0 ]; then
        note=$(sed -n 's/^note: //p' $folder/out | tail -n 1)
        echo "ok   $question${note:+ ($note)}"
        grep '^skip ' $folder/out
    else
        echo "FAIL $question"
        sed 's/^/    /' $folder/out | tail -n 40
    fi
}

# Has the list answered by children, and prints the answers in its order.
answer_all() {
    count=$(wc -l <$run/list)
    seq "$count" | xargs -n 1 -P "$JOBS" sh tests/run.sh answer &
    children=$!
    cat $run/skipped
    for number in $(seq "$count"); do
        while [ ! -e $run/$number.txt ] && kill -0 $children 2>/dev/null; do
            sleep 0.1
        done
        [ -e $run/$number.txt ] ||
            echo "FAIL question $number got no answer" >$run/$number.txt
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

main() {
    if [ "$1" = answer ]; then
        answer "$2"
        exit 0
    fi
    # A folder for each run, so that two at a time do not mix.
    run=build/test/run.$$
    export run
    mkdir -p $run
    trap 'rm -rf $run' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    : >$run/list
    : >$run/skipped
    list_questions
    if [ -n "$ONLY" ]; then
        awk -F '	' 'BEGIN { only = ENVIRON["ONLY"] } $2 ~ only' \
            $run/list >$run/some
        mv $run/some $run/list
        [ -s $run/list ] || {
            cat $run/skipped
            echo "no question matches $ONLY"
            exit 1
        }
    fi
    answer_all
}

main "$@"
