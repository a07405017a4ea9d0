#!/bin/sh
# archive.sh FOLDER - makes the archive of a release, which has what git does
# not leave out (.gitattributes), and the recipes of the package managers that
# fetch it from RELEASE, an address.

fail() { # SENTENCE
    echo "archive: $1" >&2
    exit 1
}

. examples/packages/common.sh
out=$1
# Below another project's git, git would archive that.
[ -e .git ] && command -v git >/dev/null || {
    echo 'skip archive and recipes: this is not a git checkout'
    exit
}
release=${RELEASE:-https://example.org/statesampler}
case $release in
*[\ \"\'\&\|\\]* | [!a-z]*)
    fail "RELEASE=$release is no address that a recipe can hold"
    ;;
esac
version=$(git show HEAD:statesampler.h | read_version)
name=statesampler.h-$version
archive=$name.tar.gz
mkdir -p "$out" && git archive -9 --prefix=$name/ -o "$out/$archive" HEAD ||
    fail "git made no archive"
[ -z "$(git status --porcelain)" ] ||
    echo 'note: the archive has the last commit, not the changes since'
[ -n "$RELEASE" ] || echo "note: the recipes fetch from $release:" \
    'RELEASE=... names the true address'

sha256=$(sha 256 "$out/$archive") sha512=$(sha 512 "$out/$archive")
fill() { # FROM TO
    (cd "$1" && find . -type f) | while read -r file; do
        mkdir -p "$2/${file%/*}"
        sed -e "s|@VERSION@|$version|g" -e "s|@RELEASE@|$release|g" \
            -e "s|@ARCHIVE@|$archive|g" -e "s|@SHA256@|$sha256|g" \
            -e "s|@ARCHIVE_URL@|$release/$archive|g" \
            -e "s|@SHA512@|$sha512|g" "$1/$file" >"$2/$file"
    done
}
fill examples/packages/recipes "$out/recipes"
fill examples/meson "$out/recipes/meson/packagefiles/statesampler"
