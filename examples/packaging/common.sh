# common.sh - what the scripts beside it share.

release=${RELEASE:-https://example.org/statesampler}
release=${release%/}

# The number in the first line of the header, which is standard input.
read_version() {
    sed -n '1s/.* - v\([0-9.]*\) - .*/\1/p'
}

# STATESAMPLER_VERSION_NUMBER of a version, which is standard input.
version_number() {
    awk -F . '{ print $1 * 10000 + $2 * 100 + $3 }'
}

# Prints a file with its gaps filled, @VERSION@, @RELEASE@ and what sed is told.
fill() { # [OPTION_OF_SED...] FILE
    sed -e "s|@VERSION@|$version|g" -e "s|@RELEASE@|$release|g" "$@"
}

# A file's hash. macOS has the second command only.
sha() { # BITS FILE
    { sha$1sum "$2" 2>/dev/null || shasum -a $1 "$2"; } | cut -d ' ' -f 1
}
