/* trainer.mjs - the worker that trains, in index.html: the model of
   examples/train_text.c, and a checkpoint in IndexedDB at every step.

   The page puts statesampler.mjs before it. A step is: the sampler's next
   batch, forward, backward, down the gradient; then weights and state are
   stored together, so that a tab that is closed at any instant goes on at the
   batch that is next. Sums are taken in the order of positions: a run that was
   interrupted ends in the weights of one that was not. */
const CONTEXT = 8, EMBED = 16, HIDDEN = 128, LETTERS = 256;
const INPUT = CONTEXT * EMBED, BATCH = 48, EPOCHS = 2, RATE = 0.4;
const SHAPES = { embed: LETTERS * EMBED, w1: INPUT * HIDDEN, b1: HIDDEN,
                 w2: HIDDEN * LETTERS, b2: LETTERS };
const WEIGHTS = Object.values(SHAPES).reduce((sum, size) => sum + size);

/* --- the model ------------------------------------------------------------ */

/* All weights are one array, of which each layer is a part. */
function layers(weights) {
    let at = 0;
    return Object.fromEntries(Object.entries(SHAPES).map(([name, size]) =>
        [name, weights.subarray(at, at += size)]));
}

/* Uniform numbers, by xorshift (Marsaglia 2003): the same in every browser. */
function first_weights() {
    const weights = new Float32Array(WEIGHTS), model = layers(weights);
    let x = 2463534242;
    const fill = (part, spread) => {
        for (let i = 0; i < part.length; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            part[i] = spread * ((x >>> 0) / 2 ** 31 - 1);
        }
    };
    fill(model.embed, 1);
    fill(model.w1, Math.sqrt(3 / INPUT));
    fill(model.w2, Math.sqrt(3 / HIDDEN));
    return weights;
}

const input = new Float32Array(INPUT), d_input = new Float32Array(INPUT);
const hidden = new Float32Array(HIDDEN), d_hidden = new Float32Array(HIDDEN);
const output = new Float32Array(LETTERS);

/* Leaves the guesses less the truth in output; returns the loss in bits. */
function forward(m, text, at) {
    for (let i = 0; i < CONTEXT; i++) {
        const letter = text[at - CONTEXT + i] * EMBED;
        input.set(m.embed.subarray(letter, letter + EMBED), i * EMBED);
    }
    hidden.set(m.b1);
    for (let i = 0; i < INPUT; i++)
        for (let j = 0, x = input[i], w = i * HIDDEN; j < HIDDEN; j++)
            hidden[j] += x * m.w1[w + j];
    output.set(m.b2);
    for (let i = 0; i < HIDDEN; i++) {
        const x = hidden[i] = Math.max(hidden[i], 0);
        for (let j = 0, w = i * LETTERS; x > 0 && j < LETTERS; j++)
            output[j] += x * m.w2[w + j];
    }
    let top = -Infinity, sum = 0;
    for (const x of output)
        top = Math.max(top, x);
    const right = output[text[at]] - top;
    for (let j = 0; j < LETTERS; j++)
        sum += output[j] = Math.exp(output[j] - top);
    for (let j = 0; j < LETTERS; j++)
        output[j] /= sum;
    output[text[at]] -= 1;
    return (Math.log(sum) - right) / Math.LN2;
}

/* Adds the gradient of the sample that forward has just seen. */
function backward(m, g, text, at) {
    for (let i = 0; i < HIDDEN; i++) {
        const w = i * LETTERS, x = hidden[i];
        let sum = 0;
        for (let j = 0; x > 0 && j < LETTERS; j++) {
            sum += m.w2[w + j] * output[j];
            g.w2[w + j] += x * output[j];
        }
        d_hidden[i] = sum;
    }
    for (let i = 0; i < INPUT; i++) {
        const w = i * HIDDEN, x = input[i];
        let sum = 0;
        for (let j = 0; j < HIDDEN; j++) {
            sum += m.w1[w + j] * d_hidden[j];
            g.w1[w + j] += x * d_hidden[j];
        }
        d_input[i] = sum;
    }
    for (let j = 0; j < LETTERS; j++)
        g.b2[j] += output[j];
    for (let j = 0; j < HIDDEN; j++)
        g.b1[j] += d_hidden[j];
    for (let i = 0; i < INPUT; i++) {
        const letter = text[at - CONTEXT + Math.floor(i / EMBED)];
        g.embed[letter * EMBED + i % EMBED] += d_input[i];
    }
}

/* FNV-1a of 32 bits. */
function digest_of(weights) {
    let hash = 0x811c9dc5;
    for (const byte of new Uint8Array(weights.buffer))
        hash = Math.imul(hash ^ byte, 0x01000193);
    return (hash >>> 0).toString(16).padStart(8, "0");
}

/* --- the store ------------------------------------------------------------ */

let store = null; /* the database; null where there is none */

const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = () => reject(request.error);
});

/* Pages opened from disk may share a database: it has a name of its own. */
async function open_store() {
    const request = indexedDB.open("statesampler-page", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("run");
    store = await done(request);
}

/* All tabs of the page have one store, and one of them trains: the last that
   began or went on. */
const me = `${Date.now()} ${Math.random()}`;

/* Keeps all of it or, if the tab is closed meanwhile, nothing. Returns whether
   this tab is still the one that trains; if not, nothing is kept. */
async function keep(entries, claim = false) {
    const change = store.transaction("run", "readwrite");
    const kept_run = change.objectStore("run"), ended = done(change);
    if (claim)
        kept_run.put(me, "tab");
    const mine = claim || await done(kept_run.get("tab")) === me;
    if (mine)
        for (const [name, value] of Object.entries(entries))
            kept_run.put(value, name);
    await ended;
    return mine;
}

async function kept(name) {
    return done(store.transaction("run").objectStore("run").get(name));
}

/* Without a store training goes on; only a closed tab then begins anew. */
async function stored(action) {
    try {
        return await action();
    } catch (error) {
        store = null;
        postMessage({ problem: "This browser does not let the page store it " +
                               `(${error?.message || "no room is left"}). ` +
                               "Training works, but not through a reload." });
        return undefined;
    }
}

/* --- a run ---------------------------------------------------------------- */

let run = null;      /* { text, weights, losses, interruptions } */
let sampler = null;
let running = 0;     /* counts calls of train, of which the last one counts */

function sampler_of(text) {
    return new Sampler({ numSamples: text.length - CONTEXT, seed: 1,
                         batchSize: BATCH, tail: "uneven" });
}

function tell(more) {
    postMessage({ step: run.losses.length, steps: EPOCHS * sampler.numSteps,
                  epoch: sampler.epoch, position: sampler.position,
                  samples: sampler.numSamples,
                  interruptions: run.interruptions, ...more });
}

/* One step; false when all epochs are done. */
function step_down(gradient, model, g) {
    let batch = sampler.next();
    if (batch === null) {
        if (sampler.epoch >= EPOCHS)
            return false;
        batch = sampler.next();
    }
    const total = EPOCHS * sampler.numSamples;
    const so_far = sampler.epoch * sampler.numSamples + sampler.position;
    const rate = RATE * (1 - 0.98 * so_far / total) / batch.length;
    let loss = 0;
    gradient.fill(0);
    for (const index of batch) {
        loss += forward(model, run.text, index + CONTEXT);
        backward(model, g, run.text, index + CONTEXT);
    }
    for (let i = 0; i < WEIGHTS; i++)
        run.weights[i] -= rate * gradient[i];
    run.losses.push(loss / batch.length);
    return true;
}

async function train() {
    const mine = ++running, gradient = new Float32Array(WEIGHTS);
    const model = layers(run.weights), g = layers(gradient);
    while (mine === running && step_down(gradient, model, g)) {
        const { weights, losses, interruptions } = run;
        const checkpoint = { weights, losses, interruptions,
                             state: sampler.save() };
        if (store && await stored(() => keep({ checkpoint })) === false) {
            running++;
            return postMessage({ elsewhere: true });
        }
        if (!store)
            await new Promise((resolve) => setTimeout(resolve));
        if (mine === running)
            tell({ loss: losses.at(-1) });
    }
    return mine === running && tell({ digest: digest_of(run.weights) });
}

async function begin(text) {
    running++;
    run = { text, weights: first_weights(), losses: [], interruptions: 0 };
    sampler = sampler_of(text);
    if (!store)
        await stored(open_store);
    if (store)
        await stored(() => keep({ text, checkpoint: null }, true));
    tell({ losses: [] });
    return train();
}

/* Goes on where a tab was closed. A checkpoint that cannot be used is told, and
   stays until a new run takes its place. */
async function go_on() {
    if (!store)
        await stored(open_store);
    const checkpoint = store && await stored(() => kept("checkpoint"));
    const text = checkpoint && await stored(() => kept("text"));
    if (!text)
        return postMessage({ empty: true });
    try {
        sampler = sampler_of(text);
        sampler.load(checkpoint.state);
        run = { ...checkpoint, text };
        run.interruptions++;
    } catch (error) {
        return postMessage({ problem: "What this browser has kept is no run " +
                                      `of this page: ${error.message}` });
    }
    const { interruptions } = run;
    await stored(() => keep({ checkpoint: { ...checkpoint, interruptions } },
                            true));
    tell({ losses: run.losses, text: new TextDecoder().decode(text) });
    return train();
}

async function forget() {
    running++;
    if (store)
        await stored(() => keep({ text: null, checkpoint: null }, true));
    postMessage({ empty: true });
}

addEventListener("message", ({ data }) => {
    if (data.begin)
        begin(data.begin);
    else if (data.stop)
        running++;
    else if (data.train)
        train();
    else if (data.goOn)
        go_on();
    else
        forget();
});
go_on();
