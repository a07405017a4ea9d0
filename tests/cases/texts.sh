# texts.sh - the programs that the manual and the READMEs show are those that
# are compiled and run; what they link to is there, and `make help` is complete.

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
    for file in Makefile tests/Makefile bench/Makefile examples/*/Makefile; do
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
    add_test 'the blocks of C in the README compile, pasted one after the other' \
        readme_compiles
    add_test 'every block of C in examples/extras/README.md is part of an example' \
        quotes examples/extras/README.md
}
