/* inlined.mjs - the part WebAssembly of the npm package's module: the bytes are
   in its own text and are compiled at once. So it needs no fetch, no file and
   no await, and any bundler and require can load it. Both modules are there,
   the one without SIMD first, as gzip packs them, in base64: 18 KB instead of
   58, as one repeats most of the other. Engines unpack such bytes, too, but not
   synchronously. build.sh adds the function inText, which also has the length
   of the first, and inflate.mjs. */
const [plainLength, base64] = inText();
const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

const both = inflate(packed), withSimd = both.subarray(plainLength);

/* Whether SIMD is in use. */
export const simd = WebAssembly.validate(withSimd);

/* Engines refuse this where a policy forbids it, and Chrome before 114 outside
   workers; their words do not say what to do. */
function compiled() {
    try {
        return new WebAssembly.Module(
            simd ? withSimd : both.subarray(0, plainLength));
    } catch ({ message }) {
        throw new Error("statesampler's WebAssembly is not compiled here: a " +
                        "content security policy must allow script-src " +
                        "'wasm-unsafe-eval', and in a page Chrome before 114 " +
                        `needs statesampler/files (${message})`);
    }
}

const c = new WebAssembly.Instance(compiled()).exports;

