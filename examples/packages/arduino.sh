#!/bin/sh
# arduino.sh FOLDER - stages the folders that boards' package managers take:
#     arduino  a library for the Arduino IDE and, by library.json, PlatformIO
#     esp-idf  a component       zephyr  a module
. examples/packages/common.sh
set -e

version=$(read_version <statesampler.h)
release=${RELEASE:-https://example.org/statesampler}
stage() { # NAME FOLDER
    to=$1/$2/statesampler
    mkdir -p "$to/src"
    cp statesampler.h "$to/src"
    cp LICENSE "$to"
}
fill() { # FILE FOLDER
    sed -e "s|@VERSION@|$version|" -e "s|@RELEASE@|$release|" \
        "examples/arduino/$1" >"$2/${1##*/}"
}

stage "$1" arduino
fill library.properties "$to"
fill library.json "$to"
mkdir -p "$to/examples"
cp -R examples/arduino/Shuffle "$to/examples"
stage "$1" esp-idf
fill esp-idf/idf_component.yml "$to"
fill esp-idf/CMakeLists.txt "$to"
stage "$1" zephyr
cp -R examples/arduino/zephyr/zephyr "$to"
