# torch.sh - the samplers for PyTorch, examples/python, and frameworks on it.

# Programs of examples/python/tests, by a Python that has torch: several in one
# process, as each takes seconds to import it. A line for each framework that is
# not here.
torch() { # PYTHON PROGRAM...
    python=$1
    shift
    quietly env "PYTHONPATH=$root/examples/python/tests" timeout -k 10 900 \
        "$python" -B -m unittest -v -f "$@"
    sed -n "s/.* skipped ['\"]\(PyTorch, .*\)['\"]\$/skip \1/p" said | sort -u
    awk '/^Ran / { ran = $2 } /^OK/ { sub(/.*=/, ""); skipped = $0 + 0 }
        END { print "note: " ran - skipped " tests" }' said
}

# The same with the package of the wheel, which is all that pip installs.
by_wheel() { # PYTHON PROGRAM...
    quietly make_once build/test/packages/made
    mkdir installed
    "$1" -m zipfile -e "$root"/build/test/packages/*.whl installed
    export EXAMPLES="$PWD/installed" CC=none
    torch "$@"
    [ ! -e "$EXAMPLES"/statesampler/build ]
}

# Two processes, one killed, then three; the line that counts the samples. It
# shows augment.py, too.
torch_train() { # PYTHON
    quietly timeout -k 10 300 "$1" "$root/examples/python/train.py" \
        --compare 100000
    sed -n 's/^of .*: \([0-9]* trained on exactly once\), .*/note: \1/p' said
    for bad in '--compare 3' '--folder run' closed; do # none needs torch
        case $bad in
        closed) "$1" "$root/examples/python/train.py" >&- 2>said ;;
        *) env -u RANK "$1" "$root/examples/python/train.py" $bad 2>said ;;
        esac && return 1
        grep '^train.py: ' said >complaint || {
            cat said
            return 1
        }
    done
}

torch_figures() { # PYTHON
    quietly "$1" "$root/examples/python/figures.py" --quick
    at_least 21 "$(grep -c '^| .* | .* |$' said)" 'lines of figures'
}

list_tests() {
    for file in examples/python/tests/test_*.py; do
        name=$(basename $file .py)
        grep -q "[ \\]$name" examples/python/tests/cases/torch.sh || {
            echo "$file is in no test: name it in torch.sh" >&2
            exit 1
        }
    done
    python=$(sh examples/python/tests/python.sh 2>/dev/null) || {
        skip_dep 'PyTorch, its samplers' 'a python3 with torch'
        return
    }
    add_test "PyTorch: torch's, VISSL's, the forum's rules; seeds; the library" \
        torch $python test_parity test_round_robin test_order test_seeds \
        test_library test_messages test_padding
    add_test 'PyTorch: a state at every batch of any loop, on other ranks; copies' \
        torch $python test_outermost test_state test_loops test_loader \
        test_programs
    add_test "PyTorch: killed in torchdata, accelerate, Lightning, the Trainer" \
        torch $python test_torchdata test_accelerate test_lightning \
        test_readme test_kills
    add_test "PyTorch: which samples were in a step; another dataset's fingerprint" \
        torch $python test_recorder test_changed
    add_test 'PyTorch: the history of a run that was steered and killed' \
        torch $python test_history test_past
    add_test 'PyTorch: mixes with a schedule, and of datasets that come and go' \
        torch $python test_mix test_weights test_blend
    add_test 'PyTorch: ledgers, groups, packs, spread; killed, and beside others' \
        torch $python test_ledger test_repeat test_pack test_spread
    if sh examples/python/tests/python.sh build setuptools wheel >/dev/null 2>&1 &&
        tool clang "PyTorch: Python's wheel" && tool lld "PyTorch: Python's wheel" &&
        tool advzip "PyTorch: Python's wheel"
    then
        add_test "PyTorch: with the library of the wheel" \
            by_wheel $python test_seeds test_round_robin test_spread test_pack
    fi
    add_test 'PyTorch: 2 processes, one killed, then 3; augmented in workers' \
        torch_train $python
    add_test 'PyTorch: killed and augmented, by each way to start workers' \
        torch $python test_starts
    add_test 'PyTorch: the figures are measured (quick)' torch_figures $python
}
