#!/bin/sh
# make.sh - makes all packages in build/packages, each by its script in this
# folder, and prints every file with its size and SHA-256. The last lines are
# what the scripts said, such as what is left out and what to install for it.
# RELEASE: see archive.sh.

. examples/packaging/common.sh
out=$PWD/build/packages
status=0 said=
# The last pattern matches what has no :// in it.
case $release in
*[\ \"\'\&\|\\]* | [!a-z]* | "${release%%://?*}")
    echo "packages: RELEASE=$release is no address that a recipe can hold" >&2
    exit 1
    ;;
esac
rm -rf "$out" && mkdir -p "$out" || exit 1
for script in examples/packaging/*.sh; do
    case $script in
    */common.sh | */make.sh | */release.sh) ;;
    *) said="$said
$(sh "$script" "$out")" || status=1 ;;
    esac
done

# All of them have the header's version, and no gap of a template is left.
version=$(read_version <statesampler.h)
cd "$out" || exit 1
for package in * recipes/*; do
    [ -e "$package" ] || continue
    case $package in
    *"$version"*) ;;
    *)
        grep -qrF "$version" "$package" || {
            echo "packages: nothing in $package says $version" >&2
            status=1
        }
        ;;
    esac
done
grep -rlIE '@[A-Z0-9_]+@' . >&2 && {
    echo 'packages: these files have a gap that nothing has filled' >&2
    status=1
}
find . -type f | LC_ALL=C sort | while read -r file; do
    printf '%8d  %s  %s\n' $(wc -c <"$file") $(sha 256 "$file") "${file#./}"
done
printf '%s\n' "$said" | grep .
exit $status
