# into.sh - the header in other people's programs: examples/into.

# Succeeds if the command fails with this among what it says.
fails() { # TEXT COMMAND...
    text=$1
    shift
    if "$@" >said 2>&1; then
        echo "did not fail: $*"
        return 1
    fi
    grep -qF -e "$text" said || {
        echo "not '$text' but:"
        cat said
        return 1
    }
}

# --- What kills, and what names a commit --------------------------------------

# kills.sh must tell a program that goes on from one that forgets something.
kills_tell() {
    cat >count.sh <<'END'
n=$(cat "$2" 2>/dev/null || echo 0) first=$n
while [ "$n" -lt 30 ]; do
    sleep 0.01
    n=$((n + 1))
    echo $n >new
    mv new "$2"
done
[ "$1" = keeps ] || [ "$first" -eq 0 ] || echo forgot >>"$2"
[ "$3" != wrong ]
END
    kills='sh examples/into/kills.sh 5 file'
    quietly $kills 'a b' sh count.sh keeps
    grep -q '^kills.sh: 5 SIGKILLs, shapes a b: file is the same' said
    fails 'is not what it is without a kill' \
        $kills 'a b' sh count.sh forgets
    fails 'failed before it was killed' $kills wrong sh count.sh keeps
    fails 'failed after' $kills 'a a a a a a wrong' sh count.sh keeps
    echo '[ -e "$1.whole" ] || sleep 1; : >"$1"' >quick.sh
    fails 'ends too soon to be killed' $kills a sh quick.sh
}

# commit.sh on a clone at a page's commit, at another, and on what is none.
commits_tell() {
    mkdir -p pages/page clone none
    cp examples/into/commit.sh pages
    (
        cd clone && git init -q . && echo text >file && git add file &&
            git -c user.name=a -c user.email=a commit -q -m first &&
            git rev-parse HEAD
    ) >commit
    tell='sh pages/commit.sh page'
    echo "At commit $(cat commit) of it." >pages/page/README.md
    quietly $tell clone
    grep -qx "commit.sh: clone is at commit $(cat commit)" said
    echo more >>clone/file
    quietly $tell clone
    grep -q 'with changes of its own$' said
    fails "none is not a clone: page's page is about commit " $tell none
    sed 's/[0-9a-f]\{40\}/0123456789012345678901234567890123456789/' \
        pages/page/README.md >other
    mv other pages/page/README.md
    fails "clone is at commit $(cat commit): page's page is about 01234" \
        $tell clone
    for page in examples/into/*/; do
        page=$(basename $page)
        grep -q commit.sh examples/into/$page/README.md || continue
        fails "'s page is about commit " sh examples/into/commit.sh $page none
    done
}

# --- Games --------------------------------------------------------------------

sequence() { # COMMAND...
    "$@" $STRICT -O1 -I. -o sequence tests/sequence.c && quietly ./sequence
}

# The program of the page, killed and resumed with other players.
game() {
    $CC -std=c99 $STRICT -O2 -I. -o game examples/into/games/game.c
    quietly sh examples/into/kills.sh 20 saved '1 2 3 5' ./game
    sed -n 's/^kills.sh: /note: /p' said
    printf x | dd of=saved bs=1 seek=10 conv=notrunc 2>said
    fails 'this state was not saved with these' ./game saved
    fails "'9' is not 1 to 8 players" ./game saved 9
}

# The page's table is that of bench/FIGURES.md.
game_table() {
    sed -n '/^<!-- figures -->$/,/^<!-- .figures -->$/p' \
        examples/into/games/README.md | sed '1d;$d' >page
    at_least 8 "$(wc -l <page)" lines
    sed -n '/^| ns for each item/,/^$/{ /./p; }' "$root/bench/FIGURES.md" \
        >figures
    diff figures page
}

questions() {
    ask 'kills.sh tells what goes on from what forgets' kills_tell
    if tool git 'the commits of examples/into'; then
        ask 'commit.sh tells the commit of a page from others' commits_tell
    fi
    ask "games: raylib's sequences, each number once" sequence $CC -std=c99
    if tool g++ "raylib's sequences in C++"; then
        ask "games: raylib's sequences in C++" sequence g++ -x c++ -std=c++98
    fi
    ask 'games: killed 20 times, other players' game
    ask 'games: the table of the page is that of the bench' game_table
}
