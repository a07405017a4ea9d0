# packages.sh - the packages for C and C++, each by one who does no more than
# install it and use it; the archive of a release; make packages and release.

. examples/packaging/common.sh

# Links in the folder `tools`, for a PATH without compilers.
have_only() { # NAME...
    mkdir tools
    for name; do
        ln -s "$(command -v $name)" tools
    done
}

# --- make install -------------------------------------------------------------

# Files of an installation below a folder, with DESTDIR's and PREFIX's own.
installed() { # FOLDER
    (cd "$1" && find . -type f | sort)
}

install_here() { # ARGUMENT...
    quietly "$MAKE" -s -C "$root" install "$@"
}

# By one who has no compiler; then the README's example by pkg-config.
install_used() {
    have_only sh make sed cat mv rm mkdir rmdir
    (PATH=$PWD/tools && install_here PREFIX="$PWD/a prefix")
    installed 'a prefix' >files
    printf '%s\n' ./include/statesampler.h ./share/pkgconfig/statesampler.pc |
        cmp - files
    cmp statesampler.h 'a prefix/include/statesampler.h'
    export PKG_CONFIG_PATH="$PWD/a prefix/share/pkgconfig"
    version=$(read_version <statesampler.h)
    [ "$(pkg-config --modversion statesampler)" = "$version" ]
    cp "$root/examples/quickstart.c" .
    eval "\$CC $(pkg-config --cflags statesampler) -o quickstart quickstart.c"
    ./quickstart | tail -n 1 | grep -qx done
    quietly "$MAKE" -s -C "$root" uninstall PREFIX="$PWD/a prefix"
    [ ! -e 'a prefix' ]
}

# As packagers do: statesampler.pc must not name the folder of DESTDIR. Everyone
# may read what root installs, also where root's own files are private.
install_staged() {
    (umask 077 && install_here DESTDIR="$PWD/stage" PREFIX=/usr \
        INCLUDEDIR=/usr/include/ss PKGCONFIGDIR=/usr/lib/pkgconfig)
    find stage -type f ! -perm 644 | nothing
    find stage -type d ! -perm 755 | nothing
    installed stage >files
    printf '%s\n' ./usr/include/ss/statesampler.h \
        ./usr/lib/pkgconfig/statesampler.pc | cmp - files
    fails grep stage stage/usr/lib/pkgconfig/statesampler.pc
    grep -qx 'includedir=${prefix}/include/ss' \
        stage/usr/lib/pkgconfig/statesampler.pc
    mkdir stage/etc
    quietly "$MAKE" -s -C "$root" uninstall DESTDIR="$PWD/stage" PREFIX=/usr \
        INCLUDEDIR=/usr/include/ss PKGCONFIGDIR=/usr/lib/pkgconfig
    [ "$(cd stage && echo *)" = etc ]
}

# What is there: folders, files and links.
there() {
    find made new* 2>/dev/null | sort
}

# One sentence, and afterwards there is what was there before.
install_refused() { # SENTENCE ARGUMENT...
    sentence=$1
    shift
    there >before
    fails "$MAKE" -s -C "$root" install "$@"
    [ "$(grep -c '^install: ' said)" = 1 ] && grep -q "$sentence" said &&
        ! grep -v '^install: \|^make' said || {
        cat said
        return 1
    }
    there | diff before -
}

# A file is where a folder would be: root may not write there either.
install_refusals() {
    : >file
    mkdir -p made/empty/include made/1/statesampler.h made/2/statesampler.pc
    for prefix in new made/empty; do
        install_refused 'may not write' PREFIX="$PWD/file"
        install_refused 'may not write' PREFIX="$PWD/$prefix" \
            PKGCONFIGDIR="$PWD/file/pkgconfig"
        [ ! -d /proc/self ] || install_refused 'may not write' \
            PREFIX="$PWD/$prefix" PKGCONFIGDIR=/proc/self
        install_refused 'is a folder: remove it' PREFIX="$PWD/$prefix" \
            INCLUDEDIR="$PWD/made/1"
        install_refused 'is a folder: remove it' PREFIX="$PWD/$prefix" \
            PKGCONFIGDIR="$PWD/made/2"
        (ulimit -f 64 && install_refused 'disk full' PREFIX="$PWD/$prefix")
    done
    install_refused 'full path' PREFIX=new
    install_refused 'full path' PREFIX='~/new'
    install_refused 'a space at the end' PREFIX="$PWD/new "
    install_refused 'cannot hold' PREFIX="$PWD/new
line"
    fails "$MAKE" -s -C "$root" uninstall PREFIX="$PWD/made" \
        INCLUDEDIR="$PWD/made/1" PKGCONFIGDIR="$PWD/made/empty/include"
    grep -q '^uninstall: you may not remove ' said
    there | diff before -
    # Broken off between the two files, it goes on.
    mkdir tools
    printf '#!/bin/sh\nkill -TERM $PPID\nexec "%s" "$@"\n' \
        "$(command -v mv)" >tools/mv
    chmod +x tools/mv
    (PATH=$PWD/tools:$PATH && install_here PREFIX="$PWD/new")
    installed new | wc -l | grep -qx 2
}

# Installed twice, and removed twice, by the same words.
uninstall_restores() { # ARGUMENT...
    there >before
    install_here "$@"
    install_here "$@"
    there >installed
    fails cmp before installed
    quietly "$MAKE" -s -C "$root" uninstall "$@"
    there | diff before - >said || {
        echo "after uninstall $*"
        cat said
        return 1
    }
    quietly "$MAKE" -s -C "$root" uninstall "$@"
    there | diff before -
    [ "$(grep -c '^uninstall: there is no ' said)" = 2 ]
}

# Empty folders that were there stay, all that install made goes.
install_restores() {
    mkdir -p made/share/pkgconfig made/other
    ln -s made new-link
    for prefix in new made new/deep made/../new//deep new-link/x/.; do
        uninstall_restores PREFIX="$PWD/$prefix"
        uninstall_restores PREFIX="$PWD/$prefix//"
        uninstall_restores DESTDIR="$PWD/$prefix/" PREFIX=/usr
        uninstall_restores PREFIX="$PWD/$prefix" INCLUDEDIR="$PWD/new/1//h/" \
            PKGCONFIGDIR="$PWD/made/other/a/"
    done
    # The uninstall may name the same folder in another way.
    mkdir -p new/1/2
    for prefix in new/1/2/include/.. new/1/2/3//./4; do
        install_here PREFIX="$PWD/$prefix"
        quietly "$MAKE" -s -C "$root" uninstall PREFIX="$(cd $prefix && pwd)"
        [ -d new/1/2 ]
    done
    # The INCLUDEDIR of an earlier install counts no more.
    install_here PREFIX="$PWD/made" INCLUDEDIR="$PWD/new/a/b/c"
    install_here PREFIX="$PWD/made" INCLUDEDIR="$PWD/new/1/2"
    quietly "$MAKE" -s -C "$root" uninstall PREFIX="$PWD/made" \
        INCLUDEDIR="$PWD/new/1/2"
    [ -d new/1/2 ]
}

# The compiler gets the folder, whatever its name; what statesampler.pc cannot
# hold is refused. (Make takes two dollars for one.)
install_named() {
    export PKG_CONFIG_PATH="$PWD/pc"
    right=0 refused=0
    for sign in ' ' '!' '"' '#' '$$' % '&' "'" '(' ')' '*' + , ';' '<' = '>' \
        '?' @ '[' '\' ']' ^ '`' '{' '|' '}' '~' ü; do
        set -- PREFIX="$PWD/a${sign}b" PKGCONFIGDIR="$PWD/pc"
        if "$MAKE" -s -C "$root" install "$@" >said 2>&1; then
            eval "set -- $(pkg-config --cflags statesampler)"
            [ "$*" = "-I$PWD/a${sign}b/include" ]
            cmp statesampler.h "$PWD/a${sign}b/include/statesampler.h"
            right=$((right + 1))
        else
            grep -q '^install: .* cannot hold' said
            refused=$((refused + 1))
        fi
    done
    [ $right = 23 ] && [ $refused = 6 ]
}

# --- the archive --------------------------------------------------------------

# A git checkout of what is here but most of the corpora, in the folder `tree`,
# perhaps as another version.
fresh_tree() { # [VERSION]
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 \
        GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test \
        GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test
    mkdir tree
    (cd "$root" && tar -cf - --exclude=./build --exclude=./.git \
        --exclude='*/fuzz/corpus/*/[1-9a-f]*' .) | tar -xf - -C tree
    [ -z "$1" ] || set_version "$1"
    git -C tree init -q
    commit
}

commit() {
    git -C tree add -A
    git -C tree commit -q --allow-empty -m test
}

set_version() { # VERSION
    ours=$(read_version <statesampler.h)
    for file in tree/statesampler.h tree/README.md; do
        sed -e "1s/v$ours/v$1/" -e "s/^Version $ours:/Version $1:/" \
            -e "/^#define STATESAMPLER_VERSION/s/$ours/$1/" \
            -e "/^#define STATESAMPLER_VERSION_NUMBER/s/[0-9]*$/$(
                echo "$1" | version_number)/" \
            -e "s/^   $ours  /   $1  /" $file >new
        mv new $file
    done
}

# The archive and the recipes, in the folder `made`, which the recipes name.
make_archive() {
    fresh_tree
    address=file://$(echo "$PWD" | sed 's/ /%20/g')/made
    (cd tree && RELEASE=$address sh examples/packaging/archive.sh ../made)
    archive=$(echo made/statesampler.h-*.tar.gz)
}

# What is left out is the corpora, and what is in it is all that make check,
# demo, examples and packages read; some of that is done here, but not the
# packages that take long. The version is another one: what a package lacks, or
# has of ours, make.sh finds, whatever the tools that there are.
archive_is_whole() {
    fresh_tree 9.8.7
    keep_scripts common make archive
    quietly "$MAKE" -s -C tree packages RELEASE=file:///nowhere
    archive=tree/build/packages/statesampler.h-9.8.7.tar.gz
    at_least "$(wc -c <$archive)" 1500000 'bytes are allowed'
    tar -tzf $archive | sed -e '/\/$/d' -e 's,^[^/]*/,,' | sort >has
    git -C tree ls-files | grep -v '/fuzz/corpus/' | sort | cmp - has
    gzip -dc $archive | tar -xf - && cd statesampler.h-*
    unset run root topic question call ONLY
    rm examples/packaging/npm.sh examples/packaging/python.sh
    quietly "$MAKE" -n examples demo
    quietly "$MAKE" -s build/test/cc/test_audit
    quietly build/test/cc/test_audit reduced
    quietly "$MAKE" -s packages
    grep -q '^skip archive and recipes: there is no git, or' said
    at_least 1 "$(grep -c '^ *[0-9]* *[0-9a-f]\{64\} ' said)" files
    grep '^skip ' said | sed '/^skip archive/d'
    quietly "$MAKE" -s build/quickstart
    build/quickstart >../said
    echo "note: $(wc -c <../$archive) bytes"
}

# The hash that a recipe's field asks for.
hash_of() { # RECIPE
    case $1 in
    */vcpkg/) echo "SHA512 $(sha512sum ${archive#*/} | cut -d ' ' -f 1)" ;;
    *) sha256sum ${archive#*/} | cut -d ' ' -f 1 ;;
    esac
}

# Each recipe names the archive that was made by its address, its hash and its
# version.
recipes_filled() {
    make_archive
    cd made
    version=$(read_version <"$root/statesampler.h")
    for recipe in recipes/*/; do
        grep -rqF "$address" $recipe || echo "$recipe: not $address"
        grep -rqwF "$(hash_of $recipe)" $recipe || echo "$recipe: no hash"
        grep -rqF "$version" $recipe || echo "$recipe: not $version"
        grep -qF "${recipe%/}" "$root/examples/packaging/README.md" ||
            echo "$recipe: no row in the README"
    done >complaints
    nothing <complaints
    python3 - <<'PYTHON'
import ast, json
json.load(open("recipes/vcpkg/statesampler/vcpkg.json"))
ast.parse(open("recipes/conan/conanfile.py").read())
PYTHON
}

# --- CMake and Meson ----------------------------------------------------------

# A user's project in the folder `user`, which finds the targets as standard
# input says. One program makes the implementation, two call the library.
project_of() { # LANGUAGE...
    mkdir user
    sed -n '/^cmake_minimum_required/p' "$root/examples/packaging/README.md" \
        >user/CMakeLists.txt
    echo "project(user LANGUAGES $*)" >>user/CMakeLists.txt
    cat >>user/CMakeLists.txt
    cat >user/calls.c <<'END'
#include <statesampler.h>
#include <stdio.h>
int main(void)
{
    uint64_t batch[8];
    size_t count = 0;
    statesampler s;
    statesampler_desc desc = {0};
    if (statesampler_from_env(&desc, NULL) != STATESAMPLER_OK)
        return 1;
    desc.num_samples = desc.batch_size = 8;
    statesampler_init(&s, &desc);
    statesampler_next(&s, batch, &count);
    puts(count == 8 ? "done" : "wrong");
    return 0;
}
END
    cp user/calls.c user/calls.cpp
    cp "$root/examples/quickstart.c" user/makes.c
    case "$*" in *CXX*) program calls.cpp library ;; esac
    case " $* " in
    *' C '*)
        program calls.c library
        program makes.c statesampler
        ;;
    esac
}

program() { # SOURCE TARGET
    cat >>user/CMakeLists.txt <<END
add_executable($(echo $1 | tr -d .) $1)
target_link_libraries($(echo $1 | tr -d .) statesampler::$2)
END
}

# Without a warning. In the locale C, CMake unpacks nothing into a folder whose
# name is not ASCII.
build_user() { # OPTION...
    export LC_ALL=C.UTF-8 CFLAGS='-Wall -Werror'
    quietly cmake -S user -B user/build \
        -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$PWD/user/bin" "$@"
    grep -A 4 Warning said | nothing
    quietly cmake --build user/build
}

run_user() { # COMMAND...
    cd user/bin
    count=0
    for program in calls* makes*; do
        case $program in
        *.dll) ;;
        *)
            "$@" ./$program | tail -n 1 | tr -d '\r' | grep -qx done
            count=$((count + 1))
            ;;
        esac
    done
    [ $count = 3 ]
}

# The line of a user's CMakeLists.txt, and what it needs.
use() { # HOW OPTION...
    how=$1
    shift
    case $how in
    add_subdirectory)
        echo "add_subdirectory([=[$root/examples/packaging/cmake]=] statesampler)"
        ;;
    FetchContent)
        make_archive >&2
        sed -n -e "s|URL http.*|URL [=[$PWD/$archive]=]|" \
            -e '/^include(FetchContent)/,/^FetchContent_Make/p' \
            "$root/examples/packaging/README.md"
        ;;
    find_package)
        quietly cmake -S "$root/examples/packaging/cmake" -B theirs "$@" >&2
        quietly cmake --build theirs >&2
        quietly cmake --install theirs --prefix "$PWD/installed" >&2
        rm -rf theirs
        mv installed moved
        echo "list(APPEND CMAKE_FIND_ROOT_PATH [=[$PWD/moved]=])"
        minor=$(sed -n '1s/.* - v\([0-9]*\.[0-9]*\)\..*/\1/p' statesampler.h)
        echo "find_package(statesampler $minor REQUIRED PATHS [=[$PWD/moved]=])"
        ;;
    esac
}

# All symbols are hidden, so that only STATESAMPLER_API can show them.
cmake_here() { # HOW OFF|ON
    set -- $1 -DBUILD_SHARED_LIBS=$2 -DCMAKE_C_VISIBILITY_PRESET=hidden
    use "$@" >how
    project_of C CXX <how
    shift
    build_user "$@"
    (run_user)
    if [ ${1#*=} = ON ]; then
        library=$(find . -name libstatesampler.so)
        at_least 40 "$(nm -D "$library" | grep -c ' T statesampler_')" functions
    fi
}

# With a DLL, whose functions the programs must ask for as such.
cmake_windows() { # HOW
    set -- $1 -DBUILD_SHARED_LIBS=ON -DCMAKE_SYSTEM_NAME=Windows \
        -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc \
        -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++ \
        -DCMAKE_RC_COMPILER=x86_64-w64-mingw32-windres \
        -DCMAKE_EXE_LINKER_FLAGS=-static
    use "$@" >how
    project_of C CXX <how
    shift
    build_user "$@"
    cp moved/bin/*.dll user/bin 2>/dev/null || :
    object=$(find user -name 'calls.c.obj')
    x86_64-w64-mingw32-nm "$object" | grep -q 'U __imp_statesampler_init'
    begin_windows
    run_user wine
}

# C++ alone suffices; without either a sentence says so.
cmake_languages() {
    use add_subdirectory | project_of CXX
    build_user
    user/bin/callscpp | grep -qx done
    rm -rf user
    use add_subdirectory | project_of NONE
    fails cmake -S user -B user/build
    grep -q '^CMake Error .* (message):' said
    tr -s ' \n' ' ' <said | grep -q \
        'statesampler needs a language: write project(... LANGUAGES C) or'
}

# The user's own library links ours; both are installed, and a program finds
# them.
cmake_exported() {
    { echo 'set(STATESAMPLER_INSTALL ON)'
      use add_subdirectory
    } | project_of C
    echo 'include(CMakeFindDependencyMacro)
find_dependency(statesampler)
include(${CMAKE_CURRENT_LIST_DIR}/targets.cmake)' >user/outerConfig.cmake
    cat >>user/CMakeLists.txt <<'END'
add_library(outer calls.c)
target_link_libraries(outer PUBLIC statesampler::library)
install(TARGETS outer EXPORT outer)
install(EXPORT outer DESTINATION lib/cmake/outer FILE targets.cmake)
install(FILES outerConfig.cmake DESTINATION lib/cmake/outer)
END
    build_user
    quietly cmake --install user/build --prefix "$PWD/installed"
    rm -rf user/build user/bin
    sed -i '/^project/q' user/CMakeLists.txt
    cat >>user/CMakeLists.txt <<END
list(APPEND CMAKE_PREFIX_PATH [=[$PWD/installed]=])
find_package(outer REQUIRED)
add_executable(program empty.c)
target_link_libraries(program PRIVATE outer)
END
    echo 'typedef int empty;' >user/empty.c
    build_user
    user/bin/program | grep -qx done
}

# The wrap of make packages, and the project of a user.
meson_wrap() {
    make_archive
    mkdir -p user/subprojects
    cp -r made/recipes/meson/* user/subprojects
    cp "$root/examples/quickstart.c" user/makes.c
    cat >user/meson.build <<'END'
project('user', 'c')
executable('makes', 'makes.c',
    dependencies: dependency('statesampler', version: '>=0.9'))
END
    quietly meson setup user/build user
    quietly ninja -C user/build
    cd user && build/makes | tail -n 1 | grep -qx done
}

# --- The version --------------------------------------------------------------

# Each prints what a program learns of the version, a line each, in the folder
# of a test.

told_by_header() {
    cat >version.c <<'END'
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>
int main(void)
{
    printf("macro %s\nnumber %d\nfunction %lu\n", STATESAMPLER_VERSION,
           STATESAMPLER_VERSION_NUMBER, (unsigned long)statesampler_version());
    return 0;
}
END
    "$CC" -I. -o version version.c && ./version
}

told_by_pkg_config() {
    install_here PREFIX="$PWD/installed"
    echo "version $(PKG_CONFIG_PATH="$PWD/installed/share/pkgconfig" \
        pkg-config --modversion statesampler)"
}

told_by_cmake() {
    quietly cmake -S "$root/examples/packaging/cmake" -B cmake
    sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/package \1/p' \
        cmake/statesamplerConfigVersion.cmake
}

told_by_python() {
    PYTHONPATH=$root/examples/python python3 -B -c '
import statesampler
from statesampler._library import c
print("package", statesampler.__version__)
print("function", c.version())'
}

told_by_javascript() {
    (cd "$root" && sh examples/packaging/npm.sh "$folder")
    mkdir npm && tar -xzf statesampler-*.tgz -C npm
    echo 'import { version } from "./npm/package/statesampler.mjs";
        import { readFileSync } from "node:fs";
        const read = readFileSync("npm/package/package.json");
        console.log("module", version);
        console.log("package", JSON.parse(read).version);' >version.mjs
    node version.mjs
}

# A program that asks is told the version of the header's first line,
# everywhere: as this text, or as a number.
same_version() { # header|pkg_config|cmake|python|javascript LINES
    version=$(read_version <statesampler.h)
    number=$(echo $version | version_number)
    told_by_$1 >told
    grep -vE "^[a-z]+ ($version|$number)\$" told | nothing
    wc -l <told | grep -qx "$2"
}

# --- make packages, make release ----------------------------------------------

# What a script makes in the folder $1 gets this complaint.
complained() { # SENTENCE SCRIPT
    echo "$2" >tree/examples/packaging/1.sh
    fails "$MAKE" -s -C tree packages
    grep -qx "$1" said || {
        cat said
        return 1
    }
}

# What is left out, a package that forgets the version, a gap, a script that
# fails, and an address that no recipe can hold.
packages_complain() {
    fresh_tree
    keep_scripts common make arduino npm
    have_only sh make sed cat cp mkdir rm grep find sort wc cut sha256sum
    (PATH=$PWD/tools && quietly "$MAKE" -s -C tree packages)
    sed -n '$p' said | grep -qx 'skip npm: install clang and lld'
    at_least 8 "$(grep -c '^ *[0-9]* *[0-9a-f]\{64\} ' said)" files
    for address in 'https://a b' a.org/b https:// https:/a; do
        fails "$MAKE" -s -C tree packages RELEASE="$address"
        grep -q '^packages: RELEASE=.* is no address' said
    done
    keep_scripts common make
    complained 'packages: nothing in old says .*' \
        'mkdir "$1/old"; echo 0.0.1 >"$1/old/version"'
    complained './gap' 'echo "@NAME@ $(sed -n 1p statesampler.h)" >"$1/gap"'
    complained 'one: it fails' 'echo "one: it fails" >&2; exit 1'
}

keep_scripts() { # NAME...
    for script in tree/examples/packaging/*.sh; do
        name=$(basename "$script" .sh)
        case " $* " in
        *" $name "*) ;;
        *) rm $script ;;
        esac
    done
}

refused() { # SENTENCE SED_SCRIPT FILE [COMMIT]
    sed "$2" tree/$3 >new
    fails cmp new tree/$3
    mv new tree/$3
    [ -z "$4" ] || commit
    fails "$MAKE" -s -C tree release RELEASE=file:///there
    grep -q "^release: .*$1" said || {
        cat said
        return 1
    }
    git -C tree reset -q --hard first
}

# A tracked picture stays as it is where gnuplot is missing or fails, and where
# its program does. The programs that make tables are not run here.
pictures_stay() {
    fresh_tree
    mkdir -p tree/build tools
    printf '#!/bin/sh\nexit 127\n' >tools/gnuplot
    for name in ledger packing windows turns; do
        echo '#!/bin/sh' >tree/build/$name
        [ $name != turns ] || echo 'exit 1' >>tree/build/$name
    done
    chmod +x tools/gnuplot tree/build/*
    for name in ledger packing windows turns; do
        fails env PATH="$PWD/tools:$PATH" "$MAKE" -s -C tree -o build/$name \
            -W examples/$name.gp -W build/$name examples/$name.svg
    done
    git -C tree status --porcelain | nothing
}

releases() {
    fresh_tree
    keep_scripts common make release archive
    commit
    git -C tree tag first
    refused 'line 1' '/^#define STATESAMPLER_VERSION /s/[0-9]/8/' \
        statesampler.h commit
    refused 'STATESAMPLER_VERSION_NUMBER' \
        '/^#define STATESAMPLER_VERSION_NUMBER/s/[0-9]/8/' statesampler.h commit
    refused 'CHANGES' 's/^   [0-9]*\.[0-9]*\.[0-9]*  */   0.8.9  /' \
        statesampler.h commit
    refused 'README' 's/^Version [0-9]/Version 8/' README.md commit
    refused 'without a commit' '1s/s/S/' README.md
    fails "$MAKE" -s -C tree release
    grep -q '^release: RELEASE=https' said
    echo 'echo "skip one: two is not here"' >tree/examples/packaging/1.sh
    commit
    fails "$MAKE" -s -C tree release RELEASE=file:///there
    grep -q '^release: install ' said
    echo 'cp LICENSE "$1/one-$(read_version <statesampler.h).tgz"' |
        cat examples/packaging/common.sh - >tree/examples/packaging/1.sh
    commit
    quietly "$MAKE" -s -C tree release RELEASE=file:///there
    for name in statesampler.h-.*.tar.gz one-.*.tgz; do
        grep -q "^    upload to file:///there: build/packages/$name" said
    done
    grep 'npm publish' said | nothing
    git -C tree reset -q --hard first
    # What the README tells to make in the tree is no change of it.
    tr -s '\n ' ' ' <README.md | grep -o '`cc [^`]*`' | tr -d '`' >commands
    grep -q 'quickstart' commands
    (cd tree && sh -e ../commands && ./quickstart >said && rm said &&
        mkdir venv && : >venv/pyvenv.cfg)
    quietly "$MAKE" -s -C tree release RELEASE=file:///there
    command=$(sed -n 's/^    \(git tag .*\)/\1/p' said)
    (cd tree && eval "$command")
    fails "$MAKE" -s -C tree release RELEASE=file:///there
    grep -q '^release: there is a tag v' said
}

list_tests() {
    if tool pkg-config 'make install'; then
        add_test 'make install needs no compiler, uninstall leaves nothing' \
            install_used
        add_test 'make install: signs in a folder'"'"'s name' install_named
    fi
    add_test 'make install with DESTDIR and INCLUDEDIR' install_staged
    add_test 'make install refuses with a sentence, and leaves nothing' \
        install_refusals
    add_test 'make uninstall leaves the folders that were there' install_restores
    if tool cmake CMake && tool g++ CMake; then
        for how in add_subdirectory FetchContent find_package; do
            [ $how != FetchContent ] || tool git FetchContent || continue
            add_test "CMake, $how: static" cmake_here $how OFF
            add_test "CMake, $how: shared" cmake_here $how ON
            if tool x86_64-w64-mingw32-g++ "CMake, $how, for Windows" &&
                tool wine "CMake, $how, for Windows"; then
                add_test "CMake, $how: a DLL (mingw-w64, wine)" cmake_windows $how
            fi
        done
        add_test 'CMake: C++ alone suffices, no language gets a sentence' \
            cmake_languages
        add_test 'CMake: a library that links ours is installed with it' \
            cmake_exported
    fi
    add_test 'the same version: the header' same_version header 3
    for product in 'pkg-config:pkg_config:1' cmake:cmake:1 python3:python:2; do
        set -- $(echo $product | tr : ' ')
        ! tool $1 "the same version: $2" ||
            add_test "the same version: $2" same_version $2 $3
    done
    ! tool node 'the same version: JavaScript' ||
        ! tool wasm-ld 'the same version: JavaScript' ||
        add_test 'the same version: JavaScript' same_version javascript 2
    tool git 'the archive and the recipes' || return 0
    add_test 'the archive has all that make needs; packages have its version' \
        archive_is_whole
    if tool python3 'the recipes'; then
        add_test 'the recipes name the archive, its hash and the version' \
            recipes_filled
    fi
    if tool meson 'the wrap' && tool ninja 'the wrap'; then
        add_test 'Meson: a wrap' meson_wrap
    fi
    add_test 'make packages says what is wrong with a package' packages_complain
    add_test 'make release refuses what does not agree' releases
    add_test 'a picture stays where it cannot be drawn' pictures_stay
}
