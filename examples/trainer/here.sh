#!/bin/sh
# here.sh - checks that what the trainer needs is installed; if not, prints one
# line and fails.
for tool in pkg-config "${1:-mpicc}" mpirun pgrep; do
    command -v "$tool" >/dev/null || {
        echo "skip the trainer: $tool is not installed (make deps)"
        exit 1
    }
done
for package in openblas yaml-0.1; do
    pkg-config --exists $package 2>/dev/null || {
        echo "skip the trainer: $package is not installed (make deps)"
        exit 1
    }
done
