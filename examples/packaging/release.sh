#!/bin/sh
# release.sh - checks that what is here can be released, makes the packages, and
# prints what is left for a person to do.

. examples/packaging/common.sh

fail() { # SENTENCE
    echo "release: $1" >&2
    exit 1
}

version=$(read_version <statesampler.h)
macro=$(sed -n 's/^#define STATESAMPLER_VERSION "\(.*\)"/\1/p' statesampler.h)
number=$(sed -n 's/^#define STATESAMPLER_VERSION_NUMBER //p' statesampler.h)
change=$(sed -n '/^CHANGES$/,/^\*\/$/s/^   \([0-9][0-9.]*\) .*/\1/p' \
    statesampler.h | head -n 1)
readme=$(sed -n 's/^Version \([0-9.]*\):.*/\1/p' README.md)
[ "$macro" = "$version" ] ||
    fail "STATESAMPLER_VERSION is $macro, but line 1 of the header has $version"
[ "$number" = "$(echo "$version" | version_number)" ] ||
    fail "STATESAMPLER_VERSION_NUMBER is $number, which is not that of $version"
[ "$change" = "$version" ] ||
    fail "CHANGES begins with $change, and has to tell what $version changes"
[ "$readme" = "$version" ] ||
    fail "the README says version $readme, but the header $version"
[ -e .git ] || fail 'this is not a git checkout'
[ -z "$(git status --porcelain)" ] ||
    fail 'there are changes without a commit: see git status'
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
    fail "there is a tag v$version: raise the version in the header's line 1"
[ -n "$RELEASE" ] || fail \
    'RELEASE=https://... must say where the archive can be downloaded'

mkdir -p build
sh examples/packaging/make.sh >build/release.log || exit 1
cat build/release.log
! grep -q '^skip ' build/release.log ||
    fail 'install the tools of what is skipped above'

cat <<END

Ready. What a person does, once make deps test and make mutants have passed:
    git tag -a v$version -m 'statesampler.h $version'
    git push origin v$version
END
step() { # COMMAND FILE...
    for file in $2; do
        [ ! -e "$file" ] || echo "    $1 $file"
    done
}
# npm installs from there: in its registry the name is another package's.
step "upload to $RELEASE:" "build/packages/statesampler.h-$version.tar.gz
    build/packages/*-$version.tgz"
step 'twine upload' "build/packages/statesampler-$version.tar.gz
    build/packages/statesampler-$version-py3-none-any.whl"
echo '    offer each of build/packages/recipes to its package manager'
