/* trainer.mjs - the worker of index.html that trains: a small language model,
   with a checkpoint in IndexedDB at every step.

   The page puts statesampler.mjs before it. In a step each rank takes its next
   batch, the gradients are summed, and the weights are updated; then weights
   and state are stored together, so that a tab closed at any moment continues
   with the next batch. One worker simulates all ranks. Sums are in the order of
   positions, so that an interrupted run, or one that changed its number of
   ranks, ends with the same weights as any other. */
const CONTEXT = 8, EMBED = 16, HIDDEN = 128, LETTERS = 256;
const INPUT = CONTEXT * EMBED, BATCH = 48, EPOCHS = 2, RATE = 0.4;
/* They divide BATCH. index.html offers the same. */
const WORLD_SIZES = [1, 2, 3, 4, 6, 8];
const SHAPES = { embed: LETTERS * EMBED, w1: INPUT * HIDDEN, b1: HIDDEN,
                 w2: HIDDEN * LETTERS, b2: LETTERS };
const WEIGHTS = Object.values(SHAPES).reduce((sum, size) => sum + size);

/* --- the model ------------------------------------------------------------ */

/* All weights are in one array; each layer is a part of it. */
function layers(weights) {
    let at = 0;
    return Object.fromEntries(Object.entries(SHAPES).map(([name, size]) =>
        [name, weights.subarray(at, at += size)]));
}

/* Uniform numbers from xorshift (Marsaglia 2003), the same in every browser. */
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

/* Sets output to the derivative of the loss; returns the loss in bits. */
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

/* Adds the gradient of the sample of the last call of forward. */
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

let store = null; /* the database, or null */
let why_not = ""; /* why store is null */

/* Keys in the store: the step numbers, each with its loss; "text"; "tab"; and
   "checkpoint", with what changes at every step. */
const losses_range = () => IDBKeyRange.bound(0, Infinity);

const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort =
        ({ target }) => reject(target.error); /* of a request or transaction */
});

/* Pages opened from disk may share databases, so its name is specific. Some
   browsers sometimes never answer; five seconds are much more than one needs
   that does. */
async function open_store() {
    const request = indexedDB.open("statesampler-page", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("run");
    store = await Promise.race([done(request), new Promise((_, reject) =>
        setTimeout(reject, 5000, new Error("it does not answer")))]);
    store.onclose = () => { /* the user has cleared the browser's data */
        store = null;
        why_not = "the stored data was deleted";
        if (run)
            run.kept = 0;
    };
}

/* Changes the store in one transaction: completely, or not at all if `change`
   throws, there is no room, or the tab is closed. */
async function change_kept(change) {
    if (!store)
        await open_store();
    const transaction = store.transaction("run", "readwrite");
    const ended = done(transaction);
    ended.catch(() => {}); /* if change throws, nobody awaits it */
    try {
        const found = await change(transaction.objectStore("run"));
        await ended;
        return found;
    } catch (error) {
        try {
            transaction.abort();
        } catch { /* it has been aborted already */
        }
        throw error;
    }
}

/* The same, but without a store training continues; a closed tab then falls
   back to what was stored before. The next button press tries again. */
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

/* --- other tabs ----------------------------------------------------------- */

/* The tab that has the run holds a lock until it is closed, gives it back, or
   another one takes it. Those that have lost it wait for their share of it,
   which they get when no tab has the run. Where a page may not lock, nobody
   learns that a tab is gone. */
let give_back = () => {};
let waits = new AbortController();
const lock = async (options, call) =>
    navigator.locks?.request("statesampler-page", options, call);

/* Before the store says that this tab has the run: one that reads so there asks
   for its share at once. */
function hold() {
    alone = false;
    waits.abort();
    lock({ steal: true }, () => new Promise((resolve) => {
        give_back = resolve;
    })).catch(() => {}); /* another tab has taken it */
}

/* Ends when this tab has a run, or there are no locks. Each turn is one of
   other tabs taking the run. */
async function watch(signal) {
    const free = () => new Promise(() => hear({ freed: true }));
    while (!signal.aborted)
        try {
            await lock({ mode: "shared", signal }, free);
            return;
        } catch (error) {
            if (signal.aborted || error.name !== "AbortError")
                return;
            alone = false;
            tell();
        }
}

function is_elsewhere() {
    phase = "elsewhere";
    alone = false;
    give_back();
    waits.abort();
    waits = new AbortController();
    watch(waits.signal);
}

/* The tab that had the run is gone; it may have deleted the run before. */
async function freed() {
    if (phase !== "elsewhere")
        return;
    const found = await stored((kept) => find(kept));
    if (found === null) {
        phase = "empty";
        waits.abort();
    }
    alone = phase === "elsewhere";
    tell(found === null ? { losses: [] } : {});
}

/* --- a run ---------------------------------------------------------------- */

/* All tabs of the page share the store, and only one of them trains: the last
   one that started or continued the run. */
const me = `${Date.now()} ${Math.random()}`;

let phase = "empty"; /* running, paused, done; elsewhere: another tab has it */
let alone = false;   /* elsewhere, and that tab is gone */
let run = null;      /* { text, weights, losses, interruptions, kept } */
let samplers = [];   /* one per rank */
const gradient = new Float32Array(WEIGHTS), g = layers(gradient);

function samplers_of(text, worldSize) {
    if (!WORLD_SIZES.includes(worldSize))
        throw new Error(`${worldSize} ranks do not divide ${BATCH} samples`);
    return Array.from({ length: worldSize }, (_, rank) => new Sampler({
        numSamples: text.length - CONTEXT, seed: 1, rank, worldSize,
        batchSize: BATCH / worldSize, tail: "uneven" }));
}

/* Samplers that continue from a state saved by any number of ranks. */
function samplers_at(state, text, worldSize) {
    const ranks = samplers_of(text, worldSize);
    ranks.forEach((one) => one.load(state));
    return ranks;
}

const steps_of = (one) => EPOCHS * one.numSteps;

function tell(more) {
    const problem = why_not &&
        `This browser does not let the page store the run (${why_not}). ` +
        "Training works, but " +
        (run?.kept > 0 ? `a reload goes back to step ${run.kept}.`
                       : "does not survive a reload.");
    const [first] = samplers;
    postMessage({ phase, problem, alone, ...(run && {
        step: run.losses.length, steps: steps_of(first),
        epoch: first.epoch, position: first.position,
        samples: first.numSamples, worldSize: samplers.length,
        interruptions: run.interruptions }), ...more });
}

/* All ranks' samples of a step, in the order of positions: slot 0 of each rank,
   then slot 1 and so on. In a short last step the first ranks may have one
   sample more. */
function global_batch() {
    /* next returns null at the end of an epoch, on all ranks at the same
       step. */
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

/* Losses before run.kept are stored already. */
function keep(kept) {
    const { weights, losses, interruptions } = run;
    kept.put({ weights, interruptions, state: samplers[0].save() },
             "checkpoint");
    for (let step = run.kept; step < losses.length; step++)
        kept.put(losses[step], step);
}

/* Stores the run, unless there is no store or another tab has taken the run;
   returns whether it is stored. */
async function keep_mine() {
    const mine = store && await stored(async (kept) => {
        const still = await done(kept.get("tab")) === me;
        if (still)
            keep(kept);
        return still;
    });
    if (mine === false)
        is_elsewhere();
    if (mine)
        run.kept = run.losses.length;
    return mine === true;
}

/* One step; messages are handled between steps. */
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

/* The stored run and its samplers, for the number of ranks that stored it
   unless worldSize is given; or what is wrong with it; null if none. */
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
            throw new Error("its weights do not match its state");
        return { run: { ...checkpoint, losses, text, kept: losses.length },
                 samplers: ranks, ends: losses.length === steps_of(one) };
    } catch (error) {
        return { wrong: "The data stored in this browser is not a run of " +
                        `this page: ${error.message}.` };
    }
}

/* Clears the store and takes it for this tab. text may be null. */
function clear(kept, text) {
    kept.put(me, "tab");
    kept.put(text, "text");
    kept.put(null, "checkpoint");
    kept.delete(losses_range());
}

/* Starts a new run, unless another tab has an unfinished one. */
async function begin(text, worldSize) {
    run = null;
    const begins = await stored(async (kept) => {
        const found = await find(kept);
        if (found?.run && !found.ends && await done(kept.get("tab")) !== me)
            return false;
        hold();
        clear(kept, text);
        return true;
    });
    if (begins === false) {
        is_elsewhere();
        return tell();
    }
    phase = "running";
    samplers = samplers_of(text, worldSize);
    run = { text, weights: first_weights(), losses: [], interruptions: 0,
            kept: 0 };
    return tell({ losses: [] });
}

/* Continues the stored run. If it cannot be used, reports that; it stays until
   a new run replaces it. */
async function go_on(worldSize) {
    let found = null;
    run = null;
    await stored(async (kept) => {
        found = await find(kept, worldSize);
        if (!found?.run)
            return;
        ({ run, samplers } = found);
        run.interruptions += found.ends ? 0 : 1;
        hold();
        kept.put(me, "tab");
        keep(kept);
    });
    phase = run ? "running" : "empty";
    tell({ losses: run?.losses ?? [],
           text: run ? new TextDecoder().decode(run.text) : "",
           ...(found?.wrong && { problem: found.wrong }) });
}

/* Continues on another number of ranks, as after a kill: they take over only
   the state. The new number is stored too. */
async function reshape(worldSize) {
    samplers = samplers_at(samplers[0].save(), run.text, worldSize);
    await keep_mine();
    return tell();
}

/* With the lock for that long: those who have a share of it lose it, ask again,
   and get it when the run is gone. */
async function forget() {
    let cleared;
    const clears = () => cleared ??= stored((kept) => clear(kept, null));
    await lock({ steal: true }, clears).catch(() => {});
    await clears(); /* also where a page may not lock */
    give_back();
    waits.abort();
    run = null;
    phase = "empty";
    alone = false;
    tell({ losses: [] });
}

/* --- buttons -------------------------------------------------------------- */

/* A press means what the button said; it is ignored if the phase has changed
   since. A new number of ranks applies to a run of this tab at once, otherwise
   at the next press. */
async function pressed({ forgets, reshapes, shown, text, worldSize,
                         freed: is_free }) {
    const mine = phase === "running" || phase === "paused";
    if (is_free)
        return freed();
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

/* Handles one thing at a time, as long as the page exists, so that no press
   comes between a step and its checkpoint. */
const presses = [];
let wake = () => {};
function hear(data) {
    presses.push(data);
    wake();
}
addEventListener("message", ({ data }) => hear(data));
await go_on();
for (;;)
    if (presses.length > 0)
        await pressed(presses.shift());
    else if (phase === "running")
        await train();
    else
        await new Promise((resolve) => { wake = resolve; });
