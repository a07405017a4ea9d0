# texts.sh - the programs that the manual and the READMEs show are those that
# are compiled and run; what they link to is there, and `make help` is complete.

# Prints every block of C of a text as a file of the folder `blocks`: in the
# README what is fenced as c, in the manual what is moved in by 5 columns or
# more and begins with # or ends with a brace.
find_blocks() { # FILE
    mkdir -p blocks
    case $1 in
    *.md)
        awk '/^```c$/ { name = "blocks/line" NR + 1 ".c"; next }
            /^```/ { name = "" }
            name { print >name }' "$1"
        ;;
    *)
        awk '/^\*\// { exit }
            /^      *[^ ]/ {
                if (!first) first = NR
                for (; blank > 0; blank--) block = block "\n"
                block = block $0 "\n"
                last = $0
                next
            }
            NF == 0 { if (first) blank++; next }
            { end() }
            function end() {
                if (block ~ /^ *#/ || last ~ /}$/)
                    printf "%s", block >("blocks/line" first ".c")
                block = last = ""
                first = blank = 0
            }' "$1"
        ;;
    esac
}

# Succeeds if the lines of a block stand in a program, one after the other,
# however far they are moved in and whatever empty lines are between them. A
# block with a main must be all of the program.
quoted() { # BLOCK PROGRAM
    awk 'NF == 0 { next }
        FNR == NR { want[++count] = $0; next }
        { have[++lines] = $0 }
        END {
            match(want[1], /^ */)
            margin = RLENGTH + 1
            for (i = 1; i <= count; i++) {
                if (want[i] ~ /main\(/) whole = 1
                want[i] = substr(want[i], margin)
            }
            for (i = 1; i <= lines; i++) {
                shift = index(have[i], want[1]) - 1
                if (shift < 0) continue
                indent = substr(have[i], 1, shift)
                for (j = 1; j <= count; j++)
                    if (have[i + j - 1] != indent want[j]) break
                if (j > count && (!whole || lines == count)) exit 0
            }
            exit 1
        }' "$1" "$2"
}

# Each block must be part of an example.
quotes() { # FILE [FOLDER]
    find_blocks "$1"
    count=0 bad=0
    for block in blocks/*.c; do
        found=
        for program in ${2:-examples}/*.c; do
            ! quoted $block $program || found=$program
        done
        count=$((count + 1))
        [ -n "$found" ] || {
            block=${block#blocks/line}
            echo "line ${block%.c}: no example has these lines"
            bad=1
        }
    done
    at_least 1 $count 'blocks of C'
    [ $bad = 0 ]
    echo "note: $count blocks"
}

# The README's blocks need no more than a train() and the header.
readme_compiles() {
    {
        cat <<'END'
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
void train(const uint64_t *samples, size_t count);
int main(void)
{
END
        sed -n '/^```c$/,/^```$/{ /^```/!p; }' README.md
        printf '    return code;\n}\n'
    } >readme.c
    "$CC" -std=c99 $STRICT -I. -fsyntax-only readme.c
}

# Prints every link of these documents to something that is not there: to a file
# or folder, or to a heading, which has the name that GitHub gives it. Code has
# no links.
dead_links() { # FILE.md...
    awk '
        # Without its ./ and its FOLDER/..
        function normal(path,    parts, n, i, kept, depth) {
            n = split(path, parts, "/")
            for (i = 1; i <= n; i++) {
                if (parts[i] == ".." && depth > 0) depth--
                else if (parts[i] != "." && parts[i] != "")
                    kept[++depth] = parts[i]
            }
            path = kept[1]
            for (i = 2; i <= depth; i++) path = path "/" kept[i]
            return path
        }
        function note_heading(text,    name) {
            name = tolower(text)
            gsub(/[^a-z0-9_ -]/, "", name)
            gsub(/ /, "-", name)
            if ((FILENAME, name) in headings)
                name = name "-" headings[FILENAME, name]++
            headings[FILENAME, name] = 1
        }
        function note_link(link,    file, anchor, folder) {
            if (link ~ /^[a-z]+:/) return # on the web
            folder = FILENAME
            sub(/[^\/]*$/, "", folder)
            file = anchor = link
            sub(/#.*/, "", file)
            if (!sub(/^[^#]*#/, "", anchor)) anchor = ""
            file = file == "" ? FILENAME : normal(folder file)
            links++
            where[links] = FILENAME ":" FNR ": " link
            to_file[links] = file
            to_anchor[links] = anchor
        }
        FNR == 1 { code = 0 }
        /^ *```/ { code = !code }
        code { next }
        /^#+ / {
            text = $0
            sub(/^#+ /, "", text)
            note_heading(text)
        }
        {
            rest = $0
            gsub(/`[^`]*`/, "", rest)
            if (match(rest, /^\[[^]]*\]: */))
                rest = "](" substr(rest, RLENGTH + 1) ")"
            while (match(rest, /\]\([^) ]+|(href|src)="[^"]+/)) {
                link = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                sub(/^\]\(|^[a-z]+="/, "", link)
                note_link(link)
            }
        }
        END {
            for (i = 1; i <= links; i++) {
                if (system("test -e \"" to_file[i] "\"") != 0 ||
                    (to_anchor[i] != "" &&
                        !((to_file[i], to_anchor[i]) in headings)))
                    print where[i] ": there is nothing"
            }
            if (links == 0) print "no document has a link"
        }' "$@"
}

links_lead_somewhere() {
    cd "$root"
    dead_links $(find . -name build -prune -o -name node_modules -prune -o \
        -name '*.md' -print | sed 's|^\./||') | nothing
}

# The targets of a Makefile, the one that make alone makes first.
targets_of() { # MAKEFILE
    sed -n '/^[a-z][a-z-]*:/{ s/:.*//p; q; }' "$1"
    sed -n '/^\.PHONY/,$p' "$1" | sed 's/.*://; s/\\$//' | tr -s ' ' '\n'
}

# `make help` prints the heads of all Makefiles. Each names its targets; that of
# the root need not name those that tests/ and packaging have.
help_names_targets() {
    cd "$root"
    "$MAKE" -s help >$folder/printed
    count=0
    for file in Makefile tests/Makefile examples/*/Makefile; do
        sed -n '/^#/!q; s/^# //p' $file >$folder/head
        grep -vxFf $folder/printed $folder/head | sed "s|^|$file, left out: |"
        [ $file != Makefile ] || cp $folder/printed $folder/head
        default=$(targets_of $file | head -n 1)
        for target in $(targets_of $file | sort -u); do
            grep -qE "make $target([ ,.;]|\$)" $folder/head ||
                { [ $target = $default ] && grep -q 'make  ' $folder/head; } ||
                [ $target = always ] || echo "$file: $target has no line there"
        done
    done >$folder/complaints
    nothing <$folder/complaints
}

# The table of tests/README.md names every file of tests/, and no other.
map_of_tests() {
    sed -n '/^## What is here/,/^A test/s/^| \(`[^|]*\) |.*/\1/p' \
        tests/README.md | grep -o '`[^`]*`' | tr -d '`' >patterns
    for file in tests/*; do
        while read -r pattern; do
            case ${file#tests/} in
            $pattern) echo "$pattern" >>used; continue 2 ;;
            esac
        done <patterns
        echo "in no row: $file"
    done >complaints
    grep -vxFf used patterns | sed 's/^/not there: /' >>complaints
    grep -v __pycache__ complaints | nothing
}

list_tests() {
    add_test 'tests/README.md has a row for every file' map_of_tests
    add_test 'every link between the documents leads somewhere' \
        links_lead_somewhere
    add_test 'make help names every target' help_names_targets
    add_test 'every block of C in the manual is part of an example' \
        quotes statesampler.h
    add_test 'every block of C in the README is part of an example' \
        quotes README.md
    add_test 'every block of C about games is part of a program there' \
        quotes examples/into/games/README.md examples/into/games
    add_test 'the blocks of C in the README compile, pasted one after the other' \
        readme_compiles
    add_test 'every block of C in examples/extras/README.md is part of an example' \
        quotes examples/extras/README.md
}
