/* bagtext.mjs - what build.sh adds to the modules but workerd's: BAG, which is
   bag.wasm as text, and this. */
/* Unpacks the text: each byte is a character, and from 90 on another is before
   it. (It has 8 added, so that fewer are.) So gzip packs it as tightly as the
   bytes, and base64 by 400 bytes less; inflate.mjs alone would take 800. */
function bagModule() {
    const digit = (one) => one.charCodeAt() - 43;
    return new WebAssembly.Module(Uint8Array.from(
        BAG.match(/[^ -|]?./g),
        (one) => one.length < 2 ? digit(one)
            : 90 * (digit(one) - 81) + digit(one[1])));
}
