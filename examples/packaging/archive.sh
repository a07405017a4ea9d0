#!/bin/sh
# archive.sh FOLDER - makes the archive of a release, which has what git does
# not leave out (.gitattributes), and the recipes of the package managers that
# fetch it from RELEASE, an address.

. examples/packaging/common.sh
out=$1
# Below another project's git, git would archive that.
[ -e .git ] && command -v git >/dev/null || {
    echo 'skip archive and recipes: there is no git, or no checkout of it'
    exit
}
version=$(git show HEAD:statesampler.h | read_version)
[ -n "$version" ] || exit 1 # git has said why
name=statesampler.h-$version
archive=$name.tar.gz
mkdir -p "$out" && git archive -9 --prefix=$name/ -o "$out/$archive" HEAD ||
    exit
! command -v advdef >/dev/null || advdef -z -3 -q "$out/$archive" || exit
[ -z "$(git status --porcelain)" ] ||
    echo 'note: the archive has the last commit, not the changes since'
[ -n "$RELEASE" ] || echo "note: the recipes fetch from $release:" \
    'RELEASE=... names the true address'

sha256=$(sha 256 "$out/$archive") sha512=$(sha 512 "$out/$archive")
fill_all() { # FROM TO
    (cd "$1" && find . -type f) | while read -r file; do
        mkdir -p "$2/${file%/*}"
        fill -e "s|@ARCHIVE@|$archive|g" -e "s|@SHA256@|$sha256|g" \
            -e "s|@ARCHIVE_URL@|$release/$archive|g" \
            -e "s|@SHA512@|$sha512|g" "$1/$file" >"$2/$file"
    done
}
fill_all examples/packaging/recipes "$out/recipes"
fill_all examples/packaging/meson "$out/recipes/meson/packagefiles/statesampler"
