# names.sh - everything that the header names says whose it is.

# The names of the public functions, from the compiler.
functions() {
    source_of IMPLEMENTATION $optional | compile c all.o "$CC" -std=c99 -O0
    nm -g --defined-only all.o | sed -n 's/.* T //p'
}

exported() { # COMMAND...
    source_of IMPLEMENTATION $optional | compile c all.o "$@" -std=c99
    at_least 40 "$(nm -g --defined-only all.o | grep -c ' T ')" functions
    nm -g --defined-only all.o | grep -v ' T statesampler_' | nothing
}

static_exports_nothing() { # COMMAND...
    { source_of IMPLEMENTATION STATIC $optional
      echo 'int probe(statesampler *s, const statesampler_desc *d);'
      echo 'int probe(statesampler *s, const statesampler_desc *d)'
      echo '{ return statesampler_init(s, d); }'
    } | compile c all.o "$@" -std=c99
    nm -g --defined-only all.o | grep -v ' T probe$' | nothing
}

# Line markers say which lines are the header's own.
macros() {
    source_of IMPLEMENTATION $optional |
        gcc -std=c99 -I. $STB_FLAGS -E -dD -x c - >all.i
    awk '$1 == "#" { ours = $3 ~ /statesampler\.h"$/ }
        ours && $1 == "#define" { sub(/\(.*/, "", $2); print $2 }' all.i >names
    at_least 50 "$(wc -l <names)" macros
    grep -v '^\(STATESAMPLER\|SSMP\)_' names | nothing
}

# Everything the header names at file scope, by the debugger's tables: types,
# tags, enumerators, variables, private functions too.
names() {
    source_of IMPLEMENTATION $optional | compile c all.o gcc -std=c99 -O0 \
        -gdwarf-4 -fno-eliminate-unused-debug-types \
        -fkeep-inline-functions -fkeep-static-functions
    objdump --dwarf=info all.o | awk '
        function end() {
            if (name != "") found[name] = file
            if (name == "statesampler_init") header = file
            name = ""
        }
        /^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev/ {
            end()
            top = /^ *<1>/
            want = top || /DW_TAG_enumerator/
            if (top) file = "" # an enumerator is where its enumeration is
        }
        want && /DW_AT_name/ { name = $NF }
        top && /DW_AT_decl_file/ { file = $NF }
        END { end(); for (n in found) if (found[n] == header) print n }
        ' >names
    at_least 110 "$(wc -l <names)" names
    grep -vE '^(statesampler(_|$)|STATESAMPLER_|ssmp_|SSMP_)' names | nothing
}

# A section of its own shows that the macro reached every definition, a weak
# reference that it reached every declaration.
api() {
    source_of IMPLEMENTATION $optional | compile c api.o gcc -std=c99 -O0 \
        '-DSTATESAMPLER_API=__attribute__((section("api")))'
    at_least 40 "$(objdump -t api.o | grep -c ' g .* api	')" definitions
    objdump -t api.o | grep ' g ' | grep -v ' api	' | nothing
    functions >names
    { source_of $optional
      echo 'void (*const all[])(void) = {'
      sed 's/.*/(void (*)(void))&,/' names
      echo '0};'
    } | compile c api.o gcc -w -std=c99 -O0 \
        '-DSTATESAMPLER_API=__attribute__((weak))'
    at_least 40 "$(nm api.o | grep -c ' w statesampler_')" declarations
    nm -u api.o | grep -v ' w ' | nothing
}

list_tests() {
    add_test "exported names begin with statesampler_: $CC" exported $CC
    add_test "STATIC exports nothing: $CC" static_exports_nothing $CC
    tool gcc 'names of macros and types, STATESAMPLER_API' || return 0
    add_test 'macros begin with STATESAMPLER_ or SSMP_' macros
    add_test 'types, tags and private names begin with statesampler_ or ssmp_' \
        names
    add_test 'STATESAMPLER_API reaches every function' api
}
