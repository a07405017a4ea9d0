#!/bin/sh
# arduino.sh FOLDER - stages the folders that boards' package managers take:
#     arduino  a library for the Arduino IDE and, by library.json, PlatformIO
#     esp-idf  a component       zephyr  a module
. examples/packaging/common.sh
set -e

version=$(read_version <statesampler.h)
stage() { # NAME FOLDER
    to=$1/$2/statesampler
    mkdir -p "$to/src"
    cp statesampler.h "$to/src"
    cp LICENSE "$to"
}

stage "$1" arduino
fill examples/boards/arduino/library.properties >"$to/library.properties"
fill examples/boards/arduino/library.json >"$to/library.json"
mkdir -p "$to/examples"
cp -R examples/boards/arduino/Shuffle "$to/examples"
stage "$1" esp-idf
fill examples/boards/arduino/esp-idf/idf_component.yml >"$to/idf_component.yml"
cp examples/boards/arduino/esp-idf/CMakeLists.txt "$to"
stage "$1" zephyr
cp -R examples/boards/arduino/zephyr/zephyr "$to"
