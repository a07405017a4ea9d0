/* workerd.mjs - the part WebAssembly of the npm package's module for workerd,
   which compiles what is imported as a file and nothing else. */
import wasm from "./statesampler-simd.wasm";
import bag from "./bag.wasm";

/* Whether SIMD is in use. */
export const simd = true;

const c = new WebAssembly.Instance(wasm).exports;

const bagModule = () => bag;

