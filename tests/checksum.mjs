/* checksum.mjs - runs tests/checksum.c, as WebAssembly:

       node checksum.mjs checksum.wasm */
import { readFileSync } from "node:fs";

let text = "";
const env = {
    board_start() {},
    board_stop() {},
    board_put(c) { text += String.fromCharCode(c); },
};
const { instance } = await WebAssembly.instantiate(
    readFileSync(process.argv[2]), { env });
instance.exports.main();
process.stdout.write(text);
