#!/bin/sh
# install.sh install | uninstall - what make calls: puts the header and
# statesampler.pc into INCLUDEDIR and PKGCONFIGDIR, below DESTDIR, or takes them
# away. Both are written beside their names, then renamed. A comment in
# statesampler.pc counts the folders that were made, which uninstall removes.

. examples/packaging/common.sh

action=$1
# Without /./ and //, so that the folders of a path can be counted.
plain='s#\(/\.\{0,1\}\)*/#/#g'
header=$(printf '%s\n' "$DESTDIR$INCLUDEDIR/statesampler.h" | sed "$plain")
pc=$(printf '%s\n' "$DESTDIR$PKGCONFIGDIR/statesampler.pc" | sed "$plain")
record='# Folders made for statesampler.h and for this file:'
header_folders=0 pc_folders=0
umask 022
trap 'fail "broken off"' INT TERM HUP

fail() { # SENTENCE
    rm -f "$header.$$" "$pc.$$" 2>/dev/null
    remove_folders "$pc" $pc_folders
    remove_folders "$header" $header_folders
    echo "$action: $1" >&2
    exit 1
}

# Removes of the COUNT folders at the end of a file's path those that are empty.
remove_folders() { # FILE COUNT
    folder=${1%/*} count=$2
    until [ "$count" -le 0 ] || [ -z "$folder" ]; do
        rmdir "$folder" 2>/dev/null
        folder=${folder%/*} count=$((count - 1))
    done
}

# How many folders are missing at the end of a file's path; not the root, and
# not those before a `..`, which another path to the file may not have.
count_missing() { # FILE
    folder=${1%/*} count=0
    until [ -d "$folder/" ] || [ "${folder##*/}" = .. ]; do
        folder=${folder%/*} count=$((count + 1))
    done
    echo $count
}

prepare() { # FILE
    [ ! -d "$1" ] || fail "$1 is a folder: remove it"
    { mkdir -p "${1%/*}" && true >"$1.$$"; } 2>/dev/null ||
        fail "you may not write to ${1%/*}: become root, or choose a folder \
of yours, such as PREFIX=\$HOME/.local"
}

read_record() {
    sed -n "s/^$record \([0-9]* [0-9]*\)$/\1/p" "$pc" 2>/dev/null
}

write_pc() {
    case $INCLUDEDIR in
    "$PREFIX"/*) include="\${prefix}${INCLUDEDIR#"$PREFIX"}" ;;
    *) include=$INCLUDEDIR ;;
    esac
    # What was made for a file that is there is still to be removed with it.
    set -- $(read_record)
    [ -e "$header" ] || set -- $header_folders $2
    cat <<END
prefix=$PREFIX
includedir=$include

Name: statesampler
Description: shuffled sample indices for training runs
Version: $(read_version <statesampler.h)
Cflags: -I"\${includedir}"
$record ${1:-$header_folders} ${2:-$pc_folders}
END
}

for path in "$PREFIX" "$INCLUDEDIR" "$PKGCONFIGDIR" "${DESTDIR:-/}"; do
    case $path in
    /*) ;;
    *) fail "'$path' is not a full path: begin it with /" ;;
    esac
done
if [ "$action" = uninstall ]; then
    set -- $(read_record)
    for file in "$header" "$pc"; do
        [ -f "$file" ] ||
            echo "uninstall: there is no $file: PREFIX=... says where it is"
        rm -f "$file" 2>/dev/null ||
            fail "you may not remove $file: become root"
    done
    remove_folders "$pc" ${2:-0}
    remove_folders "$header" ${1:-0}
    exit
fi
case $PREFIX//$INCLUDEDIR// in
*[\"\#\$\(\)\\[:cntrl:]]* | *' //'*)
    fail "PREFIX and INCLUDEDIR go to statesampler.pc, which cannot hold \" # \
\$ ( ) \\ or a space at the end"
    ;;
esac
header_folders=$(count_missing "$header")
prepare "$header"
pc_folders=$(count_missing "$pc")
prepare "$pc"
{ cat statesampler.h >"$header.$$" && write_pc >"$pc.$$"; } 2>/dev/null ||
    fail "$DESTDIR$PREFIX takes no file of this size: is the disk full?"
trap '' INT TERM HUP # both files or none
{ mv -f "$header.$$" "$header" && mv -f "$pc.$$" "$pc"; } 2>/dev/null ||
    fail "you may not replace $header and $pc: become root"
echo "$header"
echo "$pc"
