#!/bin/sh
# install.sh install | uninstall - what make calls: puts the header and
# statesampler.pc into INCLUDEDIR and PKGCONFIGDIR, below DESTDIR, or takes them
# away. Both are written beside their names, then renamed.

. examples/packages/common.sh

action=$1
header=$DESTDIR$INCLUDEDIR/statesampler.h
pc=$DESTDIR$PKGCONFIGDIR/statesampler.pc
umask 022
trap 'fail "broken off"' INT TERM HUP

fail() { # SENTENCE
    rm -f "$header.$$" "$pc.$$" 2>/dev/null
    remove_empty
    echo "$action: $1" >&2
    exit 1
}

# Removes the folders that are empty now, up to DESTDIR or else PREFIX. Who made
# them is not known, so the system's own stay.
remove_empty() {
    top=${DESTDIR:-$PREFIX}
    case ${top%/} in /usr | /usr/local) return ;; esac
    for folder in "$DESTDIR$INCLUDEDIR" "$DESTDIR$PKGCONFIGDIR"; do
        while rmdir "$folder" 2>/dev/null; do
            case $folder in
            "$top"/*) folder=${folder%/*} ;;
            *) break ;;
            esac
        done
    done
}

write_pc() {
    case $INCLUDEDIR in
    "$PREFIX"/*) include="\${prefix}${INCLUDEDIR#"$PREFIX"}" ;;
    *) include=$INCLUDEDIR ;;
    esac
    cat <<END
prefix=$PREFIX
includedir=$include

Name: statesampler
Description: shuffled sample indices for training runs
Version: $(read_version <statesampler.h)
Cflags: -I"\${includedir}"
END
}

for path in "$PREFIX" "$INCLUDEDIR" "$PKGCONFIGDIR" "${DESTDIR:-/}"; do
    case $path in
    /*) ;;
    *)
        echo "$action: '$path' is not a full path: begin it with /" >&2
        exit 1
        ;;
    esac
done
if [ "$action" = uninstall ]; then
    [ -e "$header" ] || [ -e "$pc" ] ||
        echo "uninstall: there is no $header: PREFIX says where it is"
    rm -f "$header" "$pc" 2>/dev/null ||
        fail "you may not remove $header: become root"
    remove_empty
    exit
fi
for file in "$header" "$pc"; do
    { mkdir -p "${file%/*}" && true >"$file.$$"; } 2>/dev/null ||
        fail "you may not write to ${file%/*}: become root, or choose a \
folder of yours, such as PREFIX=\$HOME/.local"
done
{ cat statesampler.h >"$header.$$" && write_pc >"$pc.$$"; } 2>/dev/null ||
    fail "$DESTDIR$PREFIX takes no file of this size: is the disk full?"
mv -f "$header.$$" "$header" && mv -f "$pc.$$" "$pc" || fail 'mv failed'
echo "$header"
echo "$pc"
