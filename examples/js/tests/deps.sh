#!/bin/sh
# deps.sh - installs into build/npm what examples/js/tests/cases/npm.sh uses and Debian
# does not have, as examples/js/tests/tools.json lists it: 250 MB to download, 570 MB on
# disk. Like tests/deps.sh it never fails: those tests say what is not there.
tools=examples/js/tests/tools.json folder=build/npm

cmp -s $tools $folder/package.json && {
    echo "deps-npm: nothing is missing of $tools"
    exit 0
}
command -v npm >/dev/null || {
    echo 'deps-npm: npm is not installed; the tests of bundlers are left out'
    exit 0
}
# Node trusts only its own list of authorities, which some networks are not on:
# so it is also given what the system trusts.
system=/etc/ssl/certs/ca-certificates.crt
[ ! -e $system ] || export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$system}"
echo "deps-npm: to install: what $tools lists, 250 MB to download"
rm -rf $folder $folder.new
mkdir -p $folder.new
cp $tools $folder.new/package.json
if npm install --prefix $folder.new --cache $folder.new/cache \
    --no-package-lock --ignore-scripts --no-audit --no-fund \
    --fetch-retries=1 --fetch-timeout=20000 >build/npm.log 2>&1; then
    rm -rf $folder.new/cache
    mv $folder.new $folder
else
    rm -rf $folder.new
    echo "deps-npm: npm failed, see build/npm.log; the tests of bundlers are" \
        'left out'
fi
