/* trainer.mjs - the worker that trains, in index.html: the model of
   examples/train_text.c, and a checkpoint in IndexedDB at every step.

   The page puts statesampler.mjs before it. A step is: each rank's next batch,
   forward, backward, down the gradient; then weights and state are stored
   together, so that a tab that is closed at any instant goes on at the batch
   that is next. The ranks are simulated: one worker is all of them, in turn.
   Sums are taken in the order of positions: a run that was interrupted, or that
   changed its number of ranks, ends in the weights of one that was not. */
const CONTEXT = 8, EMBED = 16, HIDDEN = 128, LETTERS = 256;
const INPUT = CONTEXT * EMBED, BATCH = 48, EPOCHS = 2, RATE = 0.4;
/* Among so many ranks a batch is shared without a rest; index.html offers
   them. */
const WORLD_SIZES = [1, 2, 3, 4, 6, 8];
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
let why_not = ""; /* why there is none */

/* Keys in the store: the numbers of the steps, each with its loss, "text",
   "tab", and "checkpoint" with what every step changes. */
const losses_range = () => IDBKeyRange.bound(0, Infinity);

const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort =
        ({ target }) => reject(target.error); /* a request's, or its own */
});

/* Pages opened from disk may share a database: it has a name of its own. */
async function open_store() {
    const request = indexedDB.open("statesampler-page", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("run");
    store = await done(request);
    store.onclose = () => { /* someone has emptied it */
        store = null;
        why_not = "what it had stored was deleted";
        if (run)
            run.kept = 0;
    };
}

/* Changes what is kept. All of a change is done or, if it throws, if there is
   no room or the tab is closed meanwhile, nothing; and no other tab's comes in
   between. */
async function change_kept(change) {
    if (!store)
        await open_store();
    const transaction = store.transaction("run", "readwrite");
    const ended = done(transaction);
    ended.catch(() => {}); /* if change throws, nobody waits for it */
    try {
        const found = await change(transaction.objectStore("run"));
        await ended;
        return found;
    } catch (error) {
        try {
            transaction.abort();
        } catch { /* it has ended already, and nothing of it is done */
        }
        throw error;
    }
}

/* Without a store training goes on; only a closed tab then goes back to what
   was kept before. The next press of a button tries it anew. */
async function stored(change) {
    why_not = "";
    try {
        return await change_kept(change);
    } catch (error) {
        store = null;
        why_not ||= error?.message || "no room is left";
        return undefined;
    }
}

/* --- a run ---------------------------------------------------------------- */

/* All tabs of the page have one store, and one of them trains: the last that
   began or went on. */
const me = `${Date.now()} ${Math.random()}`;

let phase = "empty"; /* running, paused, done; elsewhere: another tab has it */
let run = null;      /* { text, weights, losses, interruptions, kept } */
let samplers = [];   /* each rank's */
const gradient = new Float32Array(WEIGHTS), g = layers(gradient);

function samplers_of(text, worldSize) {
    if (!WORLD_SIZES.includes(worldSize))
        throw new Error(`${worldSize} ranks do not share ${BATCH} samples`);
    return Array.from({ length: worldSize }, (_, rank) => new Sampler({
        numSamples: text.length - CONTEXT, seed: 1, rank, worldSize,
        batchSize: BATCH / worldSize, tail: "uneven" }));
}

/* Samplers that go on where a state was saved, by however many ranks. */
function samplers_at(state, text, worldSize) {
    const ranks = samplers_of(text, worldSize);
    ranks.forEach((one) => one.load(state));
    return ranks;
}

const steps_of = (one) => EPOCHS * one.numSteps;

function tell(more) {
    const problem = why_not &&
        `This browser does not let the page store it (${why_not}). Training ` +
        "works, but " + (run?.kept > 0 ? "a reload goes back to step " +
                                         `${run.kept}.`
                                       : "not through a reload.");
    const [first] = samplers;
    postMessage({ phase, problem, ...(run && {
        step: run.losses.length, steps: steps_of(first),
        epoch: first.epoch, position: first.position,
        samples: first.numSamples, worldSize: samplers.length,
        interruptions: run.interruptions }), ...more });
}

/* What all ranks take in a step, in the order of positions: rank after rank, of
   each its slot 0, then slot 1 and so on. Where the last step of an epoch is
   not full, the first ranks have one sample more. */
function global_batch() {
    /* null ends an epoch, of all ranks at the same step. */
    const batches = samplers.map((one) => one.next() ?? one.next());
    const all = [];
    for (let slot = 0; slot < batches[0].length; slot++)
        for (const batch of batches)
            if (slot < batch.length)
                all.push(batch[slot]);
    return all;
}

function step_down() {
    const batch = global_batch(), [first] = samplers;
    const total = EPOCHS * first.numSamples, model = layers(run.weights);
    const so_far = first.epoch * first.numSamples + first.position;
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
}

/* A loss is stored once: those before run.kept are there. */
function keep(kept) {
    const { weights, losses, interruptions } = run;
    kept.put({ weights, interruptions, state: samplers[0].save() },
             "checkpoint");
    for (let step = run.kept; step < losses.length; step++)
        kept.put(losses[step], step);
}

/* Keeps the run, where there is a store and unless another tab has taken it;
   returns whether it is kept. */
async function keep_mine() {
    const mine = store && await stored(async (kept) => {
        const still = await done(kept.get("tab")) === me;
        if (still)
            keep(kept);
        return still;
    });
    if (mine === false)
        phase = "elsewhere";
    if (mine)
        run.kept = run.losses.length;
    return mine === true;
}

/* A step, after which messages are heard. */
async function train() {
    if (run.losses.length === steps_of(samplers[0])) {
        phase = "done";
        return tell({ digest: digest_of(run.weights) });
    }
    step_down();
    const kept = await keep_mine();
    if (phase === "elsewhere")
        return tell();
    if (!kept)
        await new Promise((resolve) => setTimeout(resolve));
    return tell({ loss: run.losses.at(-1) });
}

/* What is kept: a run and its samplers, of as many ranks as had kept it if no
   number is given, or what is wrong with it; null if it is nothing. */
async function find(kept, worldSize) {
    const checkpoint = await done(kept.get("checkpoint"));
    const text = await done(kept.get("text"));
    const losses = await done(kept.getAll(losses_range()));
    if (!checkpoint || !text)
        return null;
    try {
        const { weights, state } = checkpoint;
        const ranks = samplers_at(
            state, text, worldSize ?? describeState(state).worldSize);
        const [one] = ranks;
        if (weights.length !== WEIGHTS ||
            losses.length !== one.epoch * one.numSteps + one.step)
            throw new Error("its weights are not those of its state");
        return { run: { ...checkpoint, losses, text, kept: losses.length },
                 samplers: ranks, ends: losses.length === steps_of(one) };
    } catch (error) {
        return { wrong: "What this browser has kept is no run of this page: " +
                        `${error.message}.` };
    }
}

/* This tab begins anew, with a text or with none. */
function clear(kept, text) {
    kept.put(me, "tab");
    kept.put(text, "text");
    kept.put(null, "checkpoint");
    kept.delete(losses_range());
}

/* Another tab's run gives way only when it is at its end. */
async function begin(text, worldSize) {
    run = null;
    const begins = await stored(async (kept) => {
        const found = await find(kept);
        if (found?.run && !found.ends && await done(kept.get("tab")) !== me)
            return false;
        clear(kept, text);
        return true;
    });
    phase = begins === false ? "elsewhere" : "running";
    if (begins === false)
        return tell();
    samplers = samplers_of(text, worldSize);
    run = { text, weights: first_weights(), losses: [], interruptions: 0,
            kept: 0 };
    return tell({ losses: [] });
}

/* Goes on where a tab was closed. What cannot be used is told, and stays until
   a new run takes its place. */
async function go_on(worldSize) {
    let found = null;
    run = null;
    await stored(async (kept) => {
        found = await find(kept, worldSize);
        if (!found?.run)
            return;
        ({ run, samplers } = found);
        run.interruptions += found.ends ? 0 : 1;
        kept.put(me, "tab");
        keep(kept);
    });
    phase = run ? "running" : "empty";
    tell({ losses: run?.losses ?? [],
           text: run ? new TextDecoder().decode(run.text) : "",
           ...(found?.wrong && { problem: found.wrong }) });
}

/* Goes on with so many ranks where the run is, as after a kill: all that the
   new ranks take over is the state. In a reload they are that many, too. */
async function reshape(worldSize) {
    samplers = samplers_at(samplers[0].save(), run.text, worldSize);
    await keep_mine();
    return tell();
}

async function forget() {
    await stored((kept) => clear(kept, null));
    run = null;
    phase = "empty";
    tell({ losses: [] });
}

/* --- buttons -------------------------------------------------------------- */

/* A press means what the button said, and nothing if that is over. A number of
   ranks is taken by a run that goes on here; any other waits for a press. */
async function pressed({ forgets, reshapes, shown, text, worldSize }) {
    const mine = phase === "running" || phase === "paused";
    if (forgets)
        return forget();
    if (reshapes)
        return mine ? reshape(worldSize) : undefined;
    if (shown !== phase)
        return undefined;
    if (phase === "elsewhere")
        return go_on(worldSize);
    if (phase === "empty" || phase === "done")
        return begin(text, worldSize);
    phase = phase === "running" ? "paused" : "running";
    return tell();
}

/* One thing after the other, as long as there is the page: no press comes in
   between a step and its checkpoint. */
const presses = [];
let wake = () => {};
addEventListener("message", ({ data }) => {
    presses.push(data);
    wake();
});
await go_on();
for (;;)
    if (presses.length > 0)
        await pressed(presses.shift());
    else if (phase === "running")
        await train();
    else
        await new Promise((resolve) => { wake = resolve; });
