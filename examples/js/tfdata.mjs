/* tfdata.mjs - TensorFlow.js's tf.data reads batches ahead; the state has those
   that were trained on, not those that were taken

       node tfdata.mjs STATE_FILE

   Two epochs; kill it and start it again, as often as you like. */
import fs from "node:fs";
import * as tfdata from "@tensorflow/tfjs-data"; // in a page: tf.data
import { Sampler } from "statesampler";

const [file] = process.argv.slice(2);
const desc = { numSamples: 1000, batchSize: 16, seed: 1, tail: "uneven" };
const taken = new Sampler(desc), trained = new Sampler(desc);
if (fs.existsSync(file))
    for (const one of [taken, trained])
        one.load(new Uint8Array(fs.readFileSync(file)));

function save() {
    fs.writeFileSync(file + ".new", trained.save());
    fs.renameSync(file + ".new", file);
}

/* prefetch moves `taken`. A batch that was trained on moves `trained`, and so
   does the end of the epoch. */
const batches = tfdata.generator(() => taken[Symbol.iterator]()).prefetch(8);
while (trained.epoch < 2) {
    await batches.forEachAsync((batch) => {
        console.log(`epoch ${trained.epoch}: ${batch}`); // train here
        trained.skip();
        save();
    });
    trained.skip();
    save();
}
