#!/bin/sh
# Says whether a clone of another project is at the commit that a page of this
# folder is about: its figures and line numbers hold there.
#
#     sh examples/into/commit.sh PAGE CLONE
#
# PAGE is a folder beside this file, as llm.c. Ends with 0 if it is.
set -u

page=$(dirname "$0")/${1:-}/README.md
[ $# -eq 2 ] && [ -f "$page" ] || {
    echo 'usage: commit.sh PAGE CLONE' >&2
    exit 2
}
wanted=$(grep -oE '\b[0-9a-f]{40}\b' "$page" | head -n 1)
[ -n "$wanted" ] || {
    echo "commit.sh: $page names no commit" >&2
    exit 2
}
# A folder inside another repository is no clone: git would answer for that one.
[ -e "$2/.git" ] && found=$(git -C "$2" rev-parse HEAD 2>/dev/null) || {
    echo "commit.sh: $2 is not a clone: $1's page is about commit $wanted" >&2
    exit 1
}
[ "$found" = "$wanted" ] || {
    echo "commit.sh: $2 is at commit $found: $1's page is about $wanted" >&2
    exit 1
}
if [ -n "$(git -C "$2" status --porcelain -uno 2>/dev/null)" ]; then
    echo "commit.sh: $2 is at commit $wanted, with changes of its own"
else
    echo "commit.sh: $2 is at commit $wanted"
fi
