#!/bin/sh
# prove.sh - what `make prove` asks: proofs for all inputs, one line each, and
# that each fails where the header has a fault. ONLY=pattern asks some.
#     proved WHAT by TOOL in N s (M faults shown)
# tests/prove/README.md says what is proved, and how.

here=tests/prove
build=build/prove
failed=0
mkdir -p $build

# Why3 finds z3 by this file. A goal about memory takes z3 a tenth of the work
# without automatic configuration and guesses of models, a product needs them;
# so it tries both. It gives up after so much work (the goals of the header as
# it is take two fifths at most), not after some time: what is proved does not
# depend on how fast the machine is. What was no answer is kept.
provers() {
    cat >$build/z3 <<END
#!/bin/sh
for way in 'smt.auto_config=false smt.mbqi=false' ''; do
    answer=\$($(command -v z3) "\$@" \$way rlimit=5000000 2>&1)
    case \$answer in
    *unsat*) break ;;
    *sat* | *unknown*) ;;
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

proved() { # WHAT TOOL START FAULTS
    echo "proved $1 by $2 in $(($(date +%s) - $3)) s ($4 faults shown)"
}

# Goals for functions, of a C file with contracts, on the header with notes, and
# which of them are proved, into FOLDER/said. Plain C, as on a small core: WP
# knows no vectors.
goals() { # FOLDER FILE FUNCTIONS [FAULTS]
    mkdir -p "$1"
    rm -f $build/unanswered
    python3 $here/header.py "$3" $4 >"$1/statesampler.h" 2>"$1/said" &&
        frama-c -no-autoload-plugins -load-module wp,rtegen \
            -machdep gcc_x86_64 -cpp-command \
            "gcc -E -C -U__STDC_HOSTED__ -D__STDC_HOSTED__=0 -I$1" \
            -wp -wp-rte -wp-prover z3 -wp-timeout 600 \
            -wp-par "${JOBS:-2}" -wp-fct "$3" $here/"$2" >"$1/said" 2>&1 &&
        ! cat $build/unanswered 2>/dev/null >>"$1/said"
}

# The names whose fault no goal notices. A goal is of the longest name that it
# begins with, and notices a fault if it is proved without it, and z3 does not
# know with it.
unnoticed() { # NAMES SAID_WITHOUT SAID_WITH
    awk -v names="$1" '
        BEGIN { count = split(names, name, ",") }
        { goal = $0; sub(/.*Goal typed_/, "", goal); sub(/ :.*/, "", goal) }
        !/ Goal typed_/ { next }
        FNR == NR { proved[goal] = / : Valid/; next }
        / : Unknown/ && proved[goal] {
            owner = ""
            for (i = 1; i <= count; i++)
                if (index(goal, name[i] "_") == 1 &&
                    length(name[i]) > length(owner))
                    owner = name[i]
            noticed[owner] = 1
        }
        END { for (i = 1; i <= count; i++)
                  if (!noticed[name[i]]) print name[i] }' "$2" "$3"
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
    folder=$build/$(echo "$what" | tr -c 'a-zA-Z\n' _)
    # What an earlier run said must not be read as an answer of this one.
    rm -rf "$folder"
    goals $folder $file "$names" || {
        tail -n 20 $folder/said >$build/why
        complain "$what" $build/why
        return 0
    }
    # "Proved goals:   41 / 41"
    if ! awk '/Proved goals:/ { all = $4 > 0 && $4 == $6 }
        END { exit !all }' $folder/said; then
        grep -E 'rror|: (Failed|Unknown|Timeout)' $folder/said >$build/why
        complain "$what" $build/why
        return 0
    fi
    # All faults at once, one in a function: a contract is proved from those of
    # others, and not from their code.
    broken=$(sed -n 's/^@ //p' $here/faults.txt | while read -r name; do
        case ,$names, in *,$name,*) printf '%s,' "$name" ;; esac
    done | sed 's/,$//')
    [ -n "$broken" ] || {
        echo 'has no fault' >$build/why
        complain "$what" $build/why
        return 0
    }
    goals $folder/broken $file "$broken" $here/faults.txt || {
        tail -n 20 $folder/broken/said >$build/why
        complain "$what, with its faults" $build/why
        return 0
    }
    unnoticed "$broken" $folder/said $folder/broken/said >$build/why
    if [ -s $build/why ]; then
        sed -i 's/^/is proved with the fault in /' $build/why
        complain "$what" $build/why
    else
        proved "$what" 'WP and z3' "$start" \
            $(echo "$broken" | tr , '\n' | grep -c .)
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

# The texts of a file after "; KIND:" that do not stand in others exactly once,
# white space aside: what is proved of one place would be said of another. A
# text goes on in lines that are indented.
not_once() { # KIND FILE OTHER...
    kind=$1 texts=$2
    shift 2
    cat "$@" | tr -s ' \n' ' ' >$build/words
    awk -v kind="; $kind: " '
        index($0, kind) == 1 {
            if (text != "") print text
            text = substr($0, length(kind) + 1)
            next
        }
        text != "" && sub(/^;  +/, "") { text = text " " $0; next }
        text != "" { print text; text = "" }
        END { if (text != "") print text }' "$texts" |
        while read -r text; do
            TEXT=$text awk '{
                text = ENVIRON["TEXT"]
                for (; at = index($0, text); count++)
                    $0 = substr($0, at + length(text))
            }
            END { if (count != 1) print count + 0, "times there:", text }' \
                $build/words
        done
}

# WHAT is proved by FILE. Its texts "; header:" stand in the header and its
# texts "; contract:" in a contract, so that what is proved is what stands
# there; with each of its lines "; fault:" z3 must have an example against it.
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
    not_once header "$file" statesampler.h >>$build/why
    not_once contract "$file" $here/*.h >>$build/why
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
        proved "$what" z3 "$start" $count
    fi
}

# Asks nothing, and says so, if ONLY matches no proof that stands below.
sed -n "s/^\(wp\|smt\) ['\"]\([^'\"]*\('s [^\"]*\)\{0,1\}\)['\"].*/\2/p" "$0" |
    grep -qE "${ONLY:-.}" 2>/dev/null || {
    echo "prove: no proof matches $ONLY, or it is no pattern"
    exit 1
}
! command -v z3 >/dev/null || provers

smt 'what WP is told of bits' bits.smt2
smt 'a round undone, and squares' lemmas.smt2
smt 'the hash of a narrow half, in two forms' narrow.smt2
smt "audit_check's closed forms" audit.smt2
smt "a node of the mix's tree" tree.smt2
smt "no sum or product of a mix wraps, and its sequence is long enough" mix.smt2
smt 'the ranks of a step and of an epoch have all their positions' tail.smt2
smt 'every move leaves a sampler where a step begins' sampler.smt2
smt 'every position is a sample of its block and window' order.smt2
wp 'the arithmetic below all else' base.c +ceil_div +min +perm_round \
    +scramble +derive +epoch_key
wp 'the sizes of a permutation' perm.c +sqrt_ceil +perm_set_size \
    +perm_set_key +perm_clear +perm_set
wp 'the tail rules' tail.c +global_batch +cursor_copy +tail_round \
    +segment_close +segment_steps +cursor_move +segment_find +shape_below \
    +segment_count num_steps get_counts
wp 'what init and load refuse' check.c +shape_check +run_check_window \
    +run_check_carry +run_check_desc +run_check
[ $failed = 0 ]
