/* bagtext.mjs - what build.sh adds to the modules but workerd's: BAG, which is
   bag.wasm as text, and this. */
/* Unpacks BAG. Each byte, with 8 added, is a digit: a character from # on. Before
   it stands } if it is 90 more, and ~ if 180 more; with the 8, fewer bytes are.
   gzip makes this as small as the bytes, 400 bytes smaller than base64. */
function bagModule() {
    const digit = (one) => one.charCodeAt() - 43;
    return new WebAssembly.Module(Uint8Array.from(
        BAG.match(/[^ -|]?./g),
        (one) => one.length < 2 ? digit(one)
            : 90 * (digit(one) - 81) + digit(one[1])));
}
