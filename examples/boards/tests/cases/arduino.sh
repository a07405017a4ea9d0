# arduino.sh - what `make packages` stages for boards: the Arduino library and
# its sketch, in an emulated Uno; the other folders by what their formats ask.

arduino=/usr/share/arduino/hardware/arduino/avr

staged() {
    (cd "$root" && sh examples/packaging/arduino.sh "$folder/staged") >said 2>&1
    nothing <said
}

# The sketch, and the C files beside it, as the Arduino IDE compiles them for an
# Uno: each by itself and with the same flags. Of Debian's core WString.cpp does
# not compile with Debian's compiler; the sketch has no String.
uno() { # SKETCH FILE.c...
    flags="-mmcu=atmega328p -DF_CPU=16000000L -DARDUINO=10819
        -DARDUINO_AVR_UNO -DARDUINO_ARCH_AVR -Os -ffunction-sections
        -fdata-sections -flto -I$arduino/cores/arduino
        -I$arduino/variants/standard -Istaged/arduino/statesampler/src"
    { echo '#include <Arduino.h>'
      cat "$1"
    } >sketch.cpp
    avr-g++ -std=gnu++11 -Wall -Wextra -Werror -fno-exceptions \
        -fno-threadsafe-statics $flags -c sketch.cpp
    shift
    for source; do
        avr-gcc -std=gnu11 -Wall -Wextra -Werror $flags -c "$source"
    done
    for source in $arduino/cores/arduino/*.[cS] $arduino/cores/arduino/*.cpp; do
        case $source in
        *.cpp) standard=-std=gnu++11 ;;
        *) standard=-std=gnu11 ;;
        esac
        case $source in
        */WString.cpp) ;;
        *.S) avr-gcc -x assembler-with-cpp $flags -c "$source" ;;
        *) avr-gcc $standard -w $flags -c "$source" ;;
        esac
    done
    avr-gcc -Os -flto -fuse-linker-plugin -Wl,--gc-sections -mmcu=atmega328p \
        -o uno.elf *.o
}

# An Uno has 32,256 bytes of flash beside its boot loader, and 2,048 of RAM, of
# which the stack needs 1,024 at most.
sketch_fits() {
    staged
    uno staged/arduino/statesampler/examples/Shuffle/Shuffle.ino
    avr-size uno.elf | awk 'NR == 2 {
        flash = $1 + $2
        ram = $2 + $3
        print "note: " flash " bytes of flash, " ram " of RAM"
        exit flash > 32256 || ram > 1024
    }'
}

# Starts the Uno, and ends it by force after so many lines.
play() { # LINES OUTPUT
    : >$2
    ./simulator atmega328p uno.elf eeprom >$2 2>&1 &
    pid=$!
    until [ "$(grep -c '^track\|round\|^save' $2)" -ge "$1" ]; do
        kill -0 $pid && sleep 0.05
    done
    kill -KILL $pid
    wait $pid || :
}

# The first byte of the newer of the two places: the one with the larger step,
# which is the position here.
newer_place() {
    if [ "$(od -An -tu1 -j72 -N1 eeprom)" -gt \
        "$(od -An -tu1 -j184 -N1 eeprom)" ]; then
        echo 0
    else
        echo 112
    fi
}

# Killed in mid-round, twice, and once with the newer state damaged. The track
# that was playing comes again; otherwise each comes once a round. (A track must
# last longer than its line on the serial wire, or that is lost. A line that the
# kill has cut does not count, unless only its line feed is missing.)
sketch_resumes() {
    staged
    sed 's/TRACK_MS = 1000/TRACK_MS = 50/' \
        staged/arduino/statesampler/examples/Shuffle/Shuffle.ino >quick.ino
    uno quick.ino
    ${CC:-cc} -std=c99 -O2 -o simulator \
        "$root/examples/boards/avr/simulator.c" -lsimavr
    play 7 first
    play 6 second
    printf 'X' | dd of=eeprom bs=1 seek=$(($(newer_place) + 30)) conv=notrunc \
        2>said
    play 40 third
    for part in first second third; do
        { tr '\r' ';' <$part; echo; } |
            sed -n "/^track.*;$\|round;$/s/^\(.*\);/$part \1/p"
    done | awk '
        # After a start the last lines may come again: two tracks that were not
        # saved, and the end of a round between them.
        $1 != part { part = $1; behind = 3 }
        { line = $0; sub(/^[^ ]* /, "", line) }
        behind > 0 {
            while (behind > 0 && line != last[behind]) behind--
            if (behind-- > 0) { repeated++; next }
        }
        { last[3] = last[2]; last[2] = last[1]; last[1] = line }
        /round/ {
            if (count != 20) { print "a round of " count; bad = 1 }
            split("", seen)
            count = 0
            rounds++
            next
        }
        $3 in seen { print part ": track " $3 " again"; bad = 1 }
        { seen[$3] = 1; count++ }
        END {
            if (rounds < 2) { print rounds + 0 " rounds"; bad = 1 }
            print "note: " rounds " rounds, " repeated + 0 " lines again"
            exit bad
        }'
}

# The sketch of the boards' README, in a folder with the files that it names.
# An Uno that is killed three times goes on from its last save, and each save has
# what it has on an Uno that is not killed. (A kill cuts the last line.)
sketch_of_slots() {
    readme=$root/examples/boards/README.md
    sed -n '/^```cpp$/,/^```$/p' "$readme" | sed '1d;$d' >slots.ino
    mkdir -p staged/arduino/statesampler/src
    cp "$root/statesampler.h" staged/arduino/statesampler/src
    for name in $(sed -n '/^4\. Save/,/^5\./p' "$readme" |
        grep -o '`[a-z]*\.[ch]`' | tr -d '`'); do
        cp "$root/examples/boards/$name" .
    done
    uno slots.ino slots.c
    ${CC:-cc} -std=c99 -O2 -o simulator \
        "$root/examples/boards/avr/simulator.c" -lsimavr
    for part in 1 2 3 4; do
        play 60 killed$part
        tr -d '\r' <killed$part | sed '$d; /^Loaded /d' >part$part
    done
    cat part1 part2 part3 part4 >parts
    [ "$(sed -n '1,2s/^slot [01]: //p' part1 | xargs)" = 'empty empty' ]
    grep -v '^save\|^slot [01]: damaged$' parts | sed 1,2d | nothing
    rm eeprom
    play $(($(sed -n 's/^save \(.*\):.*/\1/p' parts | sort -n | tail -n 1) + 2)) \
        whole
    tr -d '\r' <whole | awk '
        /^save/ && FILENAME == "-" { sum[$2] = $3; next }
        /^save/ {
            if (sum[$2] != $3) { print "another " $0; bad = 1 }
            # Between them are at most the line that was left out, which may
            # have been whole, and a save whose line had not begun.
            if (FILENAME != was && $2 + 0 > last + 3) {
                print FILENAME " begins with " $0 " after " last
                bad = 1
            }
            if (FILENAME != was && FILENAME != "part1" && $2 + 0 < last) {
                print FILENAME " begins again with " $0
                bad = 1
            }
            if (FILENAME == was && $2 + 0 != last + 1) {
                print $0 " after " last
                bad = 1
            }
            was = FILENAME
            last = $2 + 0
        }
        END {
            print "note: " last " saves in four parts"
            exit bad
        }' - part1 part2 part3 part4
}

# The formats say which files and fields there must be.
fields() {
    staged
    cd staged
    for board in arduino esp-idf zephyr; do
        printf '%s\n' LICENSE src/statesampler.h | sed "s,^,$board/statesampler/,"
    done >wanted
    sed 's,/,/statesampler/,' >>wanted <<'END'
arduino/examples/Shuffle/Shuffle.ino
arduino/library.json
arduino/library.properties
esp-idf/CMakeLists.txt
esp-idf/idf_component.yml
zephyr/zephyr/CMakeLists.txt
zephyr/zephyr/Kconfig
zephyr/zephyr/module.yml
END
    find arduino esp-idf zephyr -type f | sort >files
    sort wanted | diff - files
    for field in name version author maintainer sentence paragraph category \
        url architectures; do
        grep -q "^$field=." arduino/statesampler/library.properties || {
            echo "library.properties has no $field"
            return 1
        }
    done
    python3 -m json.tool arduino/statesampler/library.json >/dev/null
    python3 - <<'END'
import yaml
component = yaml.safe_load(open("esp-idf/statesampler/idf_component.yml"))
assert set(component) == {"version", "description", "url", "license"}, component
module = yaml.safe_load(open("zephyr/statesampler/zephyr/module.yml"))
assert module == {"name": "statesampler", "build": {
    "cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}, module
END
    grep -q 'idf_component_register(INCLUDE_DIRS "src")' \
        esp-idf/statesampler/CMakeLists.txt
    for board in arduino esp-idf zephyr; do
        cmp $board/statesampler/src/statesampler.h "$root/statesampler.h"
    done
}

list_tests() {
    if ! tool avr-g++ 'the Arduino sketch'; then
        :
    elif [ ! -d $arduino ]; then
        skip_dep 'the Arduino sketch' arduino-core-avr
    else
        add_test 'Arduino: the sketch fits an Uno' sketch_fits
        if echo '#include <simavr/sim_avr.h>' | ${CC:-cc} -E - \
            >/dev/null 2>&1; then
            add_test 'Arduino: the sketch goes on after power cuts' sketch_resumes
            add_test "Arduino: the sketch of the boards' README, likewise" \
                sketch_of_slots
        else
            skip_dep 'the Arduino sketch in an emulator' libsimavr-dev
        fi
    fi
    if python3 -c 'import yaml' 2>/dev/null; then
        add_test 'packages: the folders for boards have the fields they must have' \
            fields
    else
        skip_dep 'packages: the folders for boards' python3-yaml
    fi
}
