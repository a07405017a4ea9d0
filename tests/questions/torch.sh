# torch.sh - the samplers for PyTorch, examples/torch, and frameworks on it.

# One program of tests/torch, by a Python that has torch.
torch() { # PYTHON PROGRAM
    quietly timeout -k 10 900 "$1" "$root/tests/torch/$2.py"
    sed -n 's/^Ran \([0-9]* tests\?\) in .*/note: \1/p' said
}

# Two processes, one killed, then three; the line that counts the samples.
torch_train() { # PYTHON
    quietly timeout -k 10 300 "$1" "$root/examples/torch/train.py" \
        --compare 100000
    sed -n 's/^of .*: \([0-9]* trained on exactly once\), .*/note: \1/p' said
}

# Augmented batches in worker processes, one of them killed.
torch_augment() { # PYTHON
    quietly timeout -k 10 300 "$1" -W ignore "$root/examples/torch/augment.py"
    sed -n 's/^\([0-9]* batches\) with random .*/note: \1/p' said
}

torch_figures() { # PYTHON
    quietly "$1" "$root/examples/torch/figures.py" --quick
    at_least 21 "$(grep -c '^| .* | .* |$' said)" 'lines of figures'
}

questions() {
    python=$(sh tests/torch/python.sh 2>/dev/null) || {
        skip 'PyTorch, its samplers' 'a python3 with torch'
        return
    }
    ask "PyTorch: torch's and VISSL's samplers, index for index" \
        torch $python test_parity
    ask "PyTorch: the forum's round robin, stop rules" \
        torch $python test_round_robin
    ask 'PyTorch: a state at every batch, with workers, on other ranks' \
        torch $python test_state
    ask 'PyTorch: repeated, shared and failing loops; copies' \
        torch $python test_loops
    ask "PyTorch: torchdata's StatefulDataLoader, its states at every batch" \
        torch $python test_torchdata
    ask 'PyTorch: accelerate and the Trainer, killed at every batch' \
        torch $python test_accelerate
    ask 'PyTorch: Lightning, two ranks, killed at every batch' \
        torch $python test_lightning
    ask "PyTorch: a sample's seed in any worker" torch $python test_seeds
    ask 'PyTorch: the Python of the README, killed and resumed' \
        torch $python test_readme
    ask "PyTorch: torch's own order" torch $python test_order
    ask 'PyTorch: the library is built once for its content; without torch' \
        torch $python test_library
    ask 'PyTorch: 2 processes, one killed, then 3: every sample once' \
        torch_train $python
    ask "PyTorch: killed in each framework's way, on with other ranks" \
        torch $python test_kills
    ask 'PyTorch: augmented in workers, killed, the same bits' \
        torch_augment $python
    ask 'PyTorch: the figures are measured (quick)' torch_figures $python
}
