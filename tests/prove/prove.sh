#!/bin/sh
# prove.sh - what `make prove` asks: proofs for all inputs, one line each, and
# that each fails where the header has a fault. ONLY=pattern asks some.
#     proved WHAT by TOOL in N s (M of N faults noticed)
# tests/prove/README.md says what is proved, and how.

here=tests/prove
build=build/prove
failed=0
mkdir -p $build

# Why3 finds z3 by this file. A goal about memory takes z3 a tenth of the work
# without automatic configuration and guesses of models, a product needs them;
# so it tries both. It gives up after so much work (the goals of the header as
# it is take two fifths at most), not after some time: what is proved does not
# depend on how fast the machine is. With a fault it gives up after Z3_SECONDS,
# too. What was no answer is kept.
provers() {
    cat >$build/z3 <<END
#!/bin/sh
for way in 'smt.auto_config=false smt.mbqi=false' ''; do
    answer=\$($(command -v z3) "\$@" \$way rlimit=5000000 \
        \${Z3_SECONDS:+-T:\$Z3_SECONDS} 2>&1)
    case \$answer in
    *unsat*) break ;;
    *sat* | *unknown*) ;;
    *timeout) [ -z "\$Z3_SECONDS" ] || answer=unknown ;;
    *) echo "z3 gave no answer: \$answer" >>$PWD/$build/unanswered ;;
    esac
done
echo "\$answer"
END
    chmod +x $build/z3
    cat >$build/why3.conf <<END
[main]
magic = 14
memlimit = 1000
running_provers_max = 2
timelimit = 5

[partial_prover]
name = "Z3"
path = "$PWD/$build/z3"
version = "$(z3 --version | cut -d ' ' -f 3)"
END
    WHY3CONFIG=$PWD/$build/why3.conf
    export WHY3CONFIG
}

complain() { # WHAT FILE
    echo "FAILED $1"
    sed 's/^/    /' "$2"
    failed=1
}

proved() { # WHAT TOOL START NOTICED FAULTS
    echo "proved $1 by $2 in $(($(date +%s) - $3)) s" \
        "($4 of $5 faults noticed)"
}

# Goals for functions, of a C file with contracts, on the header with notes and
# perhaps with faults, and which of them are proved, into FOLDER/said. Plain C,
# as on a small core: WP knows no vectors.
goals() { # FOLDER FILE FUNCTIONS note|fault [NUMBER]
    folder=$1 file=$2 functions=$3
    shift 3
    mkdir -p "$folder"
    rm -f $build/unanswered
    python3 $here/header.py "$@" "$functions" >"$folder/statesampler.h" \
        2>"$folder/said" &&
        frama-c -no-autoload-plugins -load-module wp,rtegen \
            -machdep gcc_x86_64 -cpp-command \
            "gcc -E -C -U__STDC_HOSTED__ -D__STDC_HOSTED__=0 -I$folder" \
            -wp -wp-rte -wp-prover z3 -wp-timeout 600 \
            -wp-par "${JOBS:-2}" \
            -wp-fct "$functions" $here/"$file" >"$folder/said" 2>&1 &&
        ! cat $build/unanswered 2>/dev/null >>"$folder/said"
}

# The names that have a goal which z3 does not prove with the faults, and proves
# in less than a second without. A goal is of the longest name that it begins
# with.
noticed() { # NAMES SAID_WITHOUT SAID_WITH
    awk -v names="$1" '
        BEGIN { count = split(names, name, ",") }
        !/ Goal typed_/ { next }
        { goal = $0; sub(/.*Goal typed_/, "", goal); sub(/ :.*/, "", goal) }
        FNR == NR {
            easy[goal] = / : Valid/ && !/[0-9]s\)/
            next
        }
        easy[goal] && / : Unknown/ {
            owner = ""
            for (i = 1; i <= count; i++)
                if (index(goal, name[i] "_") == 1 &&
                    length(name[i]) > length(owner))
                    owner = name[i]
            if (owner != "" && !had[owner]++)
                print owner
        }' "$2" "$3"
}

# Faults made by rule, of which most must be noticed, and one at least in each
# function whose contract ensures something. One in each function at a time, as
# a contract is proved from those of others, and not from their code. What takes
# z3 less than a second without a fault is given up after three with one.
faults_noticed() { # WHAT FILE FUNCTIONS FOLDER
    : >$build/noticed
    : >$build/made
    for number in 0 1 2; do
        broken=$(python3 $here/header.py faulty $number "$3")
        [ -n "$broken" ] || continue
        Z3_SECONDS=3
        export Z3_SECONDS
        goals $4/broken$number $2 "$broken" fault $number || {
            tail -n 20 $4/broken$number/said
            return 0
        }
        echo "$broken" | tr , '\n' >>$build/made
        unset Z3_SECONDS
        noticed "$broken" $4/said $4/broken$number/said >>$build/noticed
    done
    sort -u $build/made | while read -r name; do
        grep -qx "$name" $build/noticed ||
            echo "is proved with every fault in $name"
    done
    [ $(($(grep -c . <$build/noticed) * 2)) -gt $(grep -c . <$build/made) ] ||
        echo 'notices no more than half of the faults'
}

# WHAT is proved by the contracts of FILE for functions, by their names after
# statesampler_ or, with a +, ssmp_.
wp() { # WHAT FILE FUNCTION...
    what=$1 file=$2
    echo "$what" | grep -qE "${ONLY:-.}" || return 0
    for tool in frama-c why3 z3 python3; do
        command -v $tool >/dev/null || {
            echo "skip $what: $tool is not here"
            return 0
        }
    done
    shift 2
    start=$(date +%s)
    names=$(printf ',statesampler_%s' "$@" | sed 's/^,//; s/statesampler_+/ssmp_/g')
    place=$build/$(echo "$what" | tr -c 'a-zA-Z\n' _)
    # What an earlier run said must not be read as an answer of this one.
    rm -rf "$place"
    goals $place $file "$names" note || {
        tail -n 20 $place/said >$build/why
        complain "$what" $build/why
        return 0
    }
    # "Proved goals:   41 / 41"
    if ! awk '/Proved goals:/ { all = $4 > 0 && $4 == $6 }
        END { exit !all }' $place/said; then
        grep -E 'rror|: (Failed|Unknown|Timeout)' $place/said >$build/why
        complain "$what" $build/why
        return 0
    fi
    faults_noticed "$what" $file "$names" $place >$build/why
    if [ -s $build/why ]; then
        complain "$what, with faults" $build/why
    else
        proved "$what" 'WP and z3' "$start" \
            $(grep -c . <$build/noticed) $(grep -c . <$build/made)
    fi
}

# What z3 makes of the negations in a file: "proved" if it refutes them all,
# "example" if one of them holds, else "error" or "no end".
z3_says() { # FILE SECONDS
    z3 -T:"$2" "$1" >$build/said 2>&1
    if ! grep -qE '^(un)?sat$' $build/said || grep -q error $build/said; then
        echo error
    elif grep -q '^sat$' $build/said; then
        echo example
    elif grep -qE '^(unknown|timeout)$' $build/said; then
        echo 'no end'
    else
        echo proved
    fi
}

# WHAT is proved by FILE; with each of its lines "; fault:" z3 must have an
# example against it.
smt() { # WHAT FILE
    what=$1 file=$here/$2
    echo "$what" | grep -qE "${ONLY:-.}" || return 0
    command -v z3 >/dev/null || {
        echo "skip $what: z3 is not here"
        return 0
    }
    start=$(date +%s)
    count=0
    : >$build/why
    says=$(z3_says "$file" 60)
    [ "$says" = proved ] || { echo "z3: $says"; cat $build/said; } >>$build/why
    sed -n 's/^; fault: //p' "$file" >$build/faults
    while read -r fault; do
        awk -v old="${fault%% => *}" -v new="${fault##* => }" '
            /^;/ { next }
            { while ((at = index($0, old)) && !done) {
                  $0 = substr($0, 1, at - 1) new substr($0, at + length(old))
                  done = 1
              }
              print }
            END { exit !done }' "$file" >$build/broken.smt2 ||
            echo "is not there: $fault" >>$build/why
        says=$(z3_says $build/broken.smt2 60)
        [ "$says" = example ] ||
            echo "with the fault $fault, z3 has no example: $says" >>$build/why
        count=$((count + 1))
    done <$build/faults
    [ $count != 0 ] || echo 'has no fault' >>$build/why
    if [ -s $build/why ]; then
        complain "$what" $build/why
    else
        proved "$what" z3 "$start" $count $count
    fi
}

# Asks nothing, and says so, if ONLY matches no proof that stands below.
sed -n "s/^\(wp\|smt\) ['\"]\([^'\"]*\('s [^\"]*\)\{0,1\}\)['\"].*/\2/p" "$0" |
    grep -qE "${ONLY:-.}" 2>/dev/null || {
    echo "prove: no proof matches $ONLY, or it is no pattern"
    exit 1
}
! command -v python3 >/dev/null || python3 $here/header.py check || exit 1
! command -v z3 >/dev/null || provers

smt 'what WP is told of bits' bits.smt2
smt 'a round undone, and squares' lemmas.smt2
smt 'a round, and the hash of a narrow half in two forms' round.smt2
smt "audit_check's closed forms" audit.smt2
smt "a node of the mix's tree" tree.smt2
smt "no sum or product of a mix wraps, and its sequence is long enough" mix.smt2
smt 'the ranks of a step and of an epoch have all their positions' tail.smt2
smt 'every move leaves a sampler where a step begins' sampler.smt2
smt 'every position is a sample of its block and window' order.smt2
wp 'the arithmetic below all else' base.c +ceil_div +min
wp 'the sizes of a permutation' perm.c +sqrt_ceil +perm_rounds \
    +perm_set_size +perm_set_key +perm_clear +perm_set
wp 'the tail rules' tail.c +global_batch +cursor_copy +tail_round \
    +segment_close +segment_steps +cursor_move +segment_find +shape_below \
    +segment_count num_steps get_counts
wp 'what init and load refuse' check.c +shape_check +run_check_window \
    +run_check_carry +run_check_desc
[ $failed = 0 ]
