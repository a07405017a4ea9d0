/* page.mjs - the program of index.html. Each section of the page is a function
   with its own state. */
const $ = (id) => document.getElementById(id);
const library = URL.createObjectURL(new Blob([$("library").textContent],
                                             { type: "text/javascript" }));
const { Audit, Mix, Perm, Sampler, simd } = await import(library);

const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const NUMBERS = new Intl.NumberFormat("en-US");
const count = (number) => NUMBERS.format(number);

/* --- colours and patterns ------------------------------------------------- */

/* From Okabe and Ito, Color universal design, 2008, for the colour-blind;
   without black, which is invisible on a dark page. */
const COLOURS = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167],
                 [86, 180, 233], [213, 94, 0], [240, 228, 66],
                 [150, 150, 150]];

/* A pattern for each rank: whether a pixel of a cell has the full colour. */
const PATTERNS = [
    () => true,
    (x, y, p) => Math.floor(y / p) % 2 === 0,
    (x, y, p) => Math.floor(x / p) % 2 === 0,
    (x, y, p) => Math.floor((x + y) / p) % 2 === 0,
    (x, y, p, s) => Math.floor((x + s - y) / p) % 2 === 0,
    (x, y, p) => (Math.floor(x / p) + Math.floor(y / p)) % 2 === 0,
    (x, y, p, s) => Math.min(x, y, s - 1 - x, s - 1 - y) < p,
    (x, y, p, s) => Math.abs(x - s / 2) < p || Math.abs(y - s / 2) < p,
];

function rgb(name) {
    const text = getComputedStyle(document.documentElement)
        .getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

const blend = (a, b, share) =>
    a.map((x, i) => Math.round(x * share + b[i] * (1 - share)));
const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const css = (colour) => `rgb(${colour})`;

/* The pixels of a rank's cell, s wide; pale if served before a kill. */
function tile(rank, s, pale, tall = s) {
    const paper = rgb("--cell"), pixels = new Uint32Array(s * tall);
    const full = blend(COLOURS[rank], paper, pale ? 0.5 : 1);
    const half = blend(COLOURS[rank], paper, pale ? 0.25 : 0.4);
    const p = Math.max(1, Math.round(s / 5)), on = PATTERNS[rank];
    for (let y = 0; y < tall; y++)
        for (let x = 0; x < s; x++)
            pixels[y * s + x] =
                pack(s < 4 || on(x, y, p, s) ? full : half);
    return pixels;
}

/* Gives a canvas the resolution of the screen. */
function sharp(canvas) {
    const scale = devicePixelRatio, box = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(box.width * scale));
    canvas.height = Math.max(1, Math.round(box.height * scale));
    const context = canvas.getContext("2d");
    context.font = `${13 * scale}px system-ui, "DejaVu Sans", sans-serif`;
    return { context, scale, width: canvas.width, height: canvas.height };
}

/* Calls draw now, and whenever the page's size or colours change. */
const drawings = [];
function drawn(draw) {
    drawings.push(draw);
    draw();
}
let pending = 0;
function redraw() {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => drawings.forEach((draw) => draw()));
}
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

/* A pattern that fills rectangles of a canvas. */
function paint(context, rank, pale) {
    const s = 10 * devicePixelRatio | 0, cell = new OffscreenCanvas(s, s);
    const image = new ImageData(
        new Uint8ClampedArray(tile(rank, s, pale).buffer), s, s);
    cell.getContext("2d").putImageData(image, 0, 0);
    return context.createPattern(cell, "repeat");
}

/* Sets a text. An unchanged text must not be read aloud again. */
function say(id, text, problem = false) {
    if ($(id).textContent !== text)
        $(id).textContent = text;
    $(id).classList.toggle("problem", problem);
}

/* A file's name, shortened for messages. */
const short = ({ name }) =>
    name.length > 40 ? `${name.slice(0, 20)}…${name.slice(-16)}` : name;

const some = (number, one) =>
    `${number} ${one}${Number(number) === 1 ? "" : "s"}`;

/* A slider and the number beside it; calls `changed` when it is moved. Screen
   readers get its value from `words`. */
function slider(id, words, changed) {
    const input = $(id), output = document.querySelector(`output[for=${id}]`);
    const tell = () => {
        if (output)
            output.textContent = input.value;
        input.setAttribute("aria-valuetext", words(input.value));
    };
    input.addEventListener("input", () => {
        changed();
        tell();
    });
    tell();
    return tell;
}

const MAX_SEED = 2n ** 64n - 1n;

/* The whole number in a field, or null with a message below the field. above:
   the message for a number that is too large. */
function number(id, low, high, above = "") {
    const text = $(id).value.replace(/[,_\s]/g, "");
    const value = /^\d{1,20}$/.test(text) ? BigInt(text) : -1n;
    const good = value >= low && value <= high;
    const range = `A whole number from ${count(low)} to ` +
                  `${high === MAX_SEED ? "2^64 - 1" : count(high)}.`;
    say(id + "Hint", good ? range : "Not accepted. " +
        (value > high && above || range), !good);
    return good ? value : null;
}

/* A logarithmic slider and the field beside it, which show the same number.
   Calls `changed` with it. */
function sample_slider(id, low, high, changed, above) {
    const field = $(id + "Text"), input = $(id);
    let samples = "";
    function typed() {
        const value = number(id + "Text", low, high, above);
        if (value === null)
            return;
        samples = count(value);
        input.value = 10 * Math.log10(Number(value));
        tell();
        changed(Number(value));
    }
    function moved() {
        const power = 10 ** (input.valueAsNumber / 10);
        field.value = count(Math.round(Number(power.toPrecision(4))));
        typed();
    }
    const tell = slider(id, () => `${samples} samples`, moved);
    field.addEventListener("change", typed);
    moved();
}

/* --- the grid of samples -------------------------------------------------- */

function make_grid() {
    const canvas = $("grid"), RANKS = COLOURS.length;
    let n = 0, owner, view, cell, tall, columns, image, pixels, tiles;

    function locate(i) {
        if (cell === 0)
            return Math.floor(i * pixels.length / n);
        return Math.floor(i / columns) * tall * view.width + i % columns * cell;
    }

    function colour(i) {
        const kind = tiles[owner[i]], gap = cell > 5 ? 1 : 0;
        const start = locate(i);
        if (cell === 0)
            pixels[start] = kind[0];
        for (let y = 0; y < tall - gap; y++)
            for (let x = 0; x < cell - gap; x++)
                pixels[start + y * view.width + x] = kind[y * cell + x];
    }

    const show = () => view.context.putImageData(image, 0, 0);

    /* The largest cells that fit. */
    function layout() {
        view = sharp(canvas);
        cell = Math.floor(Math.sqrt(view.width * view.height / n));
        while (cell > 0 && Math.floor(view.width / cell) *
                           Math.floor(view.height / cell) < n)
            cell--;
        columns = cell > 0 ? Math.floor(view.width / cell) : 0;
        tall = cell > 0 ? Math.floor(view.height / Math.ceil(n / columns)) : 0;
        tall = Math.min(tall, 2 * cell);
        image = view.context.createImageData(view.width, view.height);
        pixels = new Uint32Array(image.data.buffer);
        const s = Math.max(cell, 1), t = Math.max(tall, 1);
        tiles = [new Uint32Array(s * t).fill(pack(rgb("--cell")))];
        for (let rank = 0; rank < RANKS; rank++) {
            tiles[1 + rank] = tile(rank, s, false, t);
            tiles[1 + RANKS + rank] = tile(rank, s, true, t);
        }
        for (let i = 0; i < n; i++)
            colour(i);
        show();
    }

    return {
        clear(samples) {
            n = samples;
            owner = new Uint8Array(n);
            layout();
        },
        /* Returns how many of the samples had been served before. */
        serve(rank, batch) {
            let again = 0;
            for (const index of batch) {
                again += owner[index] !== 0;
                owner[index] = 1 + rank;
                colour(index);
            }
            return again;
        },
        fade() {
            for (let i = 0; i < n; i++)
                if (owner[i] > 0 && owner[i] <= RANKS)
                    owner[i] += RANKS;
            layout();
        },
        layout,
        show,
    };
}

/* --- the run -------------------------------------------------------------- */

function start_run() {
    const grid = make_grid(), EPOCH_SECONDS = 16;
    const MOST = 1000000n;
    let numSamples, seed = 42n; /* the last valid ones */
    let desc, samplers = [], state, audit, again, kills, history, frame = 0;
    let most; /* the largest number of ranks in this epoch */
    let phase = "running"; /* or paused, killed, over */
    let stopped = CALM.matches; /* with reduced motion, starts paused */
    let due = 0, last = 0, rest = 0;

    const sampler = (rank, worldSize) =>
        new Sampler({ ...desc, rank, worldSize });
    const ranks_of = (worldSize) =>
        Array.from({ length: worldSize },
                   (_, rank) => sampler(rank, worldSize));

    /* Saves the state, and shows it and the steps. */
    function show() {
        const before = state;
        state = samplers[0].save();
        show_state(state, before);
        draw_steps();
        grid.show();
    }

    let strip; /* the canvas of steps, with images of full steps */
    function lay_steps() {
        strip = sharp($("steps"));
        strip.paints = COLOURS.map((_, rank) =>
            paint(strip.context, rank, false));
        strip.full = [];
        draw_steps();
    }

    function draw_step(context, ranks, x) {
        const { height, scale, paints } = strip, tall = height / ranks.length;
        ranks.forEach((share, rank) => {
            context.fillStyle = paints[rank];
            context.fillRect(x, rank * tall, 8 * scale, (tall - scale) * share);
        });
    }

    /* Most steps look the same, so their image is drawn once. */
    function full_step(ranks) {
        const { height, scale, full } = strip;
        if (!full[ranks.length]) {
            const cell = new OffscreenCanvas(8 * scale, height);
            draw_step(cell.getContext("2d"), ranks, 0);
            full[ranks.length] = cell;
        }
        return full[ranks.length];
    }

    /* Draws each rank's batches in the last steps. */
    function draw_steps() {
        const { context, width, height, scale } = strip;
        const wide = 10 * scale, room = Math.floor(width / wide);
        context.clearRect(0, 0, width, height);
        history.slice(-room).forEach(({ ranks, kill }, i) => {
            if (ranks.every((share) => share === 1))
                context.drawImage(full_step(ranks), i * wide, 0);
            else
                draw_step(context, ranks, i * wide);
            if (kill) {
                context.fillStyle = css(rgb("--accent"));
                context.fillRect(i * wide - 2 * scale, 0, 2 * scale, height);
            }
        });
    }

    /* Ranks that are gone after a kill are pale. */
    function draw_ranks() {
        most = Math.max(most, samplers.length);
        $("ranks").replaceChildren(...COLOURS.slice(0, most).map((_, rank) => {
            const item = document.createElement("li");
            const canvas = document.createElement("canvas");
            const s = canvas.width = canvas.height =
                Math.round(16 * devicePixelRatio);
            canvas.getContext("2d").putImageData(new ImageData(
                new Uint8ClampedArray(
                    tile(rank, s, rank >= samplers.length).buffer), s, s),
                                                 0, 0);
            item.append(canvas, `rank ${rank}`);
            return item;
        }));
    }

    /* One step of all ranks; false at the end of the epoch. */
    function step(kill) {
        const ranks = [], at = samplers[0].step;
        for (const [rank, one] of samplers.entries()) {
            let batch = one.next();
            if (batch === null)
                continue;
            const real = batch.length - one.padding(at);
            again += grid.serve(rank, batch.subarray(0, real));
            audit.add(batch.subarray(0, real));
            ranks.push(batch.length / desc.batchSize);
        }
        if (ranks.length === 0)
            return false;
        history.push({ ranks, kill });
        if (history.length > 1000)
            history.shift();
        return true;
    }

    function verdict() {
        const n = desc.numSamples, served = audit.count;
        const through = kills === 0 ? "" : kills === 1 ? ", through a kill"
            : `, through ${kills} kills`;
        if (desc.order === "replacement")
            return `Epoch done${through}: ${count(served)} draws, ` +
                   `${count(served - again)} different samples.`;
        if (audit.check(n))
            return `Audit: ${count(n)} of ${count(n)} samples, each exactly ` +
                   `once${through}.`;
        if (desc.tail === "drop" && again === 0)
            return `Audit: ${count(served)} of ${count(n)} samples, none ` +
                   `twice${through}; ${count(n - served)} dropped by the ` +
                   "tail rule.";
        return `Audit: WRONG. ${count(served)} served, ${count(again)} twice.`;
    }

    function tell() {
        const [first] = samplers;
        /* Texts that change at every frame must not be read aloud. */
        $("status").ariaLive = phase === "running" ? "off" : "polite";
        if (phase === "over")
            return say("status", verdict());
        if (phase === "killed")
            return say("status", `Killed at step ${count(first.step)}: ` +
                `${count(first.position)} of ${count(desc.numSamples)} ` +
                "samples served (now pale). Only 112 bytes are left.");
        return say("status", `Epoch ${first.epoch}, ` +
            `step ${count(first.step)} of ${count(first.numSteps)} on ` +
            `${some(samplers.length, "rank")}: ` +
            `${count(audit.count)} of ${count(desc.numSamples)} samples ` +
            "served.");
    }

    function buttons() {
        const pressed = document.activeElement;
        $("kill").disabled = phase === "killed";
        $("resume").disabled = phase !== "killed";
        $("kill").classList.toggle("main", phase !== "killed");
        $("resume").classList.toggle("main", phase === "killed");
        $("pause").disabled = phase === "killed";
        $("pause").textContent = phase === "paused" ? "Play" : "Pause";
        $("resumeOn").textContent = $("newWorldSize").value;
        document.body.dataset.phase = phase;
        /* A button that was just disabled passes the focus on. */
        if (pressed?.disabled)
            $(phase === "killed" ? "resume" : "kill")
                .focus({ preventScroll: true });
    }

    const moves = () => phase === "running" || phase === "over";

    function enter(next) {
        phase = next;
        rest = 4; /* seconds for which the verdict is shown */
        if (moves() && frame === 0) {
            last = performance.now();
            frame = requestAnimationFrame(tick);
        }
        buttons();
        tell();
    }

    function begin_epoch() {
        audit = new Audit();
        again = kills = 0;
        most = 0;
        history = [];
        draw_ranks();
        grid.clear(desc.numSamples);
    }

    /* At most 200 steps at a time, so that a tab that was hidden does not catch
       up. */
    function tick(now) {
        frame = moves() ? requestAnimationFrame(tick) : 0;
        const passed = Math.min(now - last, 100) / 1000;
        last = now;
        if (phase === "over" && (rest -= passed) < 0) {
            begin_epoch();
            enter("running");
        }
        if (phase !== "running")
            return;
        due += passed * samplers[0].numSteps / EPOCH_SECONDS;
        due = Math.min(due, 200);
        let more = true, moved = false;
        for (; due >= 1 && more; due--) {
            more = step(false);
            moved = true;
        }
        if (!moved)
            return;
        show();
        if (more)
            tell();
        else
            enter("over");
    }

    /* Starts a new run with the values of the controls. */
    function begin() {
        desc = { numSamples, seed, batchSize: $("batchSize").valueAsNumber,
                 order: $("order").value, tail: $("tail").value,
                 chunkSize: 64, window: 4 };
        samplers = ranks_of($("worldSize").valueAsNumber);
        state = samplers[0].save();
        begin_epoch();
        if (stopped) /* show the effect of the controls all the same */
            for (let i = Math.ceil(samplers[0].numSteps / 2); i > 0; i--)
                step(false);
        due = 1;
        enter(stopped ? "paused" : "running");
        show();
    }

    /* With an invalid seed the last valid one stays. */
    function take_seed() {
        const value = number("seed", 0n, MAX_SEED);
        seed = value ?? seed;
        return value !== null;
    }

    /* While a verdict is shown, this kills the next epoch at its start. */
    function kill() {
        if (phase === "over")
            begin_epoch();
        grid.fade();
        kills++;
        enter("killed");
    }

    /* Takes nothing from the killed run except its state. */
    function resume() {
        samplers = ranks_of($("newWorldSize").valueAsNumber);
        samplers.forEach((one) => one.load(state));
        $("worldSize").value = samplers.length;
        tell_ranks();
        draw_ranks();
        due = 0;
        stopped = false;
        enter(step(true) ? "running" : "over");
        show();
    }

    function load(bytes) {
        try {
            const next = ranks_of(samplers.length);
            next.forEach((one) => one.load(bytes));
            samplers = next;
        } catch (error) {
            refuse_state(error.message);
            return;
        }
        begin_epoch();
        audit_before(samplers[0].position);
        enter(stopped ? "paused" : "running");
        show();
        say("loadStatus", "Loaded: the run continues at step " +
                          `${count(samplers[0].step)}.`);
    }

    /* Adds what had been served before the state was saved. */
    function audit_before(position) {
        const all = new Sampler({ ...desc, epoch: samplers[0].epoch,
                                  batchSize: 4096, tail: "uneven" });
        for (const batch of all) {
            const left = Math.max(0, position - audit.count);
            audit.add(batch.subarray(0, left));
            grid.serve(0, batch.subarray(0, left));
            if (left < batch.length)
                break;
        }
        grid.fade();
    }

    function pause(stops) {
        stopped = stops;
        enter(stops ? "paused" : "running");
    }

    const ranks = (number) => some(number, "rank");
    const tell_ranks = slider("worldSize", ranks, begin);
    slider("batchSize", (size) => `${some(size, "sample")} a rank`, begin);
    slider("newWorldSize", ranks, buttons);
    $("seed").addEventListener("change", () => take_seed() && begin());
    $("order").addEventListener("change", begin);
    $("tail").addEventListener("change", begin);
    $("kill").addEventListener("click", kill);
    $("resume").addEventListener("click", resume);
    $("pause").addEventListener("click", () => pause(phase !== "paused"));
    CALM.addEventListener("change", () => CALM.matches && moves() &&
                                          pause(true));
    history = [];
    lay_steps();
    take_seed();
    sample_slider("numSamples", 10n, MOST, (samples) => {
        numSamples = samples;
        begin();
    }, `The picture shows at most ${count(MOST)}. A trillion is below.`);
    drawings.push(grid.layout, lay_steps, draw_ranks);
    return { load };
}

/* --- 112 bytes ------------------------------------------------------------ */

const WORDS = ["magic, format, algorithm", "num_samples", "seed", "stream",
               "chunk_size", "window", "order, partition, tail, blocks",
               "world_size, batch_size", "epoch", "position", "base: epoch",
               "base: position", "base: step", "check word"];
const hex = (bytes) =>
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const refuse_state = (why) =>
    say("loadStatus", `Not loaded: ${why}. The run is unchanged.`, true);

let shown = null;
function show_state(state, before) {
    shown = state;
    if (!$("bytes").firstChild)
        $("bytes").append(...WORDS.map((name) => {
            const row = document.createElement("div");
            const cells = document.createElement("span");
            cells.append(...Array.from({ length: 8 },
                                       () => document.createElement("b")));
            const title = document.createElement("i");
            title.textContent = name;
            row.append(cells, title);
            return row;
        }));
    $("bytes").querySelectorAll("b").forEach((cell, i) => {
        const digits = state[i].toString(16).padStart(2, "0");
        if (cell.textContent !== digits)
            cell.textContent = digits;
        cell.classList.toggle("new", state[i] !== before[i]);
    });
}

function start_bytes(run) {
    $("copy").addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(hex(shown));
            say("loadStatus", "Copied: 224 hexadecimal digits.");
        } catch {
            $("paste").value = hex(shown);
            $("paste").select();
            say("loadStatus", "This browser does not let the page copy. The " +
                              "bytes are selected in the field above.");
        }
    });
    $("paste").addEventListener("keydown", ({ key }) =>
        key === "Enter" && $("load").click());
    $("load").addEventListener("click", () => {
        const text = $("paste").value.replace(/\s/g, "");
        if (!/^([0-9a-f]{2})*$/i.test(text))
            return refuse_state("this is not pairs of hexadecimal digits");
        return run.load(Uint8Array.from(text.match(/../g) ?? [],
                                        (pair) => parseInt(pair, 16)));
    });
}

/* --- a table would need --------------------------------------------------- */

/* Rounds: 99.6 MB is 100 MB, and 999.6 kB is 1.0 MB. */
const scaled = (value, units, by) => {
    let at = 0;
    for (; value >= by[at] - 0.5 && at < by.length; at++)
        value /= by[at];
    return `${value >= 99.5 ? Math.round(value) : value.toPrecision(2)} ` +
           units[at];
};
const in_bytes = (bytes) => bytes < 1000 ? `${bytes} bytes`
    : scaled(bytes, ["bytes", "kB", "MB", "GB", "TB"], [1e3, 1e3, 1e3, 1e3]);
const in_time = (seconds) =>
    scaled(seconds * 1e6, ["µs", "ms", "s", "min", "h", "days"],
           [1e3, 1e3, 60, 60, 24]);

/* The time to shuffle a table of a million, in seconds per index. */
function measure_table() {
    const n = 1e6, table = new Uint32Array(n), start = performance.now();
    for (let i = 0; i < n; i++)
        table[i] = i;
    for (let i = n - 1; i > 0; i--) {
        const j = Math.floor(Math.random() * (i + 1)), kept = table[i];
        table[i] = table[j];
        table[j] = kept;
    }
    return (performance.now() - start) / 1000 / n;
}

function measure_ours(numSamples) {
    const batch = new Float64Array(32), times = 200, start = performance.now();
    for (let i = 0; i < times; i++)
        new Sampler({ numSamples, seed: i, batchSize: 32 }).next(batch);
    return Math.max(performance.now() - start, 0.1) / 1000 / times;
}

function start_table() {
    const per_index = measure_table();
    let n;
    const draw = () => {
        const { context, width, height, scale } = sharp($("bars"));
        const tall = height / 2 - 3 * scale;
        const bar = (y, colour, bytes, name) => {
            const long = width * Math.log10(bytes) / 13;
            const room = context.measureText(name).width + 16 * scale;
            const inside = long + room > width;
            context.fillStyle = css(rgb(colour));
            context.fillRect(0, y, long, tall);
            context.fillStyle = css(rgb(inside ? "--paper" : "--ink"));
            context.fillText(name, inside ? long - room + 8 * scale
                                 : long + 8 * scale, y + tall / 2 + 5 * scale);
        };
        bar(0, "--soft", 8 * n, "table");
        bar(height / 2, "--accent", 512, "statesampler.h");
    };
    measure_ours(1000);
    sample_slider("tableSize", 1000n, 10n ** 12n, (samples) => {
        n = samples;
        $("tableBytes").textContent = in_bytes(8 * n);
        $("tableTime").textContent = in_time(per_index * n);
        $("ourBytes").textContent = "512 bytes at most";
        $("ourTime").textContent = in_time(measure_ours(n));
        draw();
    });
    drawings.push(draw);
}

/* --- several datasets ----------------------------------------------------- */

function start_mix() {
    const LENGTHS = [40, 24, 16], NAMES = ["A", "B", "C"], MOST = 100;

    function draw() {
        const weights = NAMES.map((_, i) => $("weight" + i).valueAsNumber);
        const sum = weights.reduce((a, b) => a + b);
        const mix = new Mix(LENGTHS.map((numSamples, i) =>
            ({ numSamples, stream: i, weight: weights[i] })),
                            { stop: $("stop").value });
        const turns = Math.min(mix.numTurns, MOST), taken = [0, 0, 0];
        const { context, width, height, scale } = sharp($("mix"));
        const left = 26 * scale, wide = (width - left) / turns;
        const tall = height / 3;
        for (let turn = 0; turn < turns; turn++) {
            const { source } = mix.next();
            context.fillStyle =
                paint(context, source, taken[source] >= LENGTHS[source]);
            context.fillRect(left + turn * wide, source * tall + 4 * scale,
                             Math.max(wide - scale, 1), tall - 8 * scale);
            taken[source]++;
        }
        NAMES.forEach((name, i) => {
            context.fillStyle = css(rgb("--ink"));
            context.fillText(name, 2 * scale, (i + 0.5) * tall + 4 * scale);
            $("share" + i).textContent =
                `${taken[i]} of ${turns} turns: ` +
                `${Math.round(100 * taken[i] / turns)}%, by weight ` +
                `${Math.round(100 * weights[i] / sum)}%`;
        });
        $("mixEnd").textContent = (mix.numTurns === Infinity
            ? `It never ends; ${MOST} turns are shown.`
            : `The epoch has ${mix.numTurns} turns` +
              (mix.numTurns > MOST ? `; ${MOST} are shown.` : ".")) +
            (taken.some((some, i) => some > LENGTHS[i])
                ? " Pale: restarted." : "");
    }

    NAMES.forEach((_, i) =>
        slider("weight" + i, (weight) => `weight ${weight}`, draw));
    $("stop").addEventListener("change", draw);
    drawn(draw);
}

/* --- position against index ----------------------------------------------- */

const M64 = (1n << 64n) - 1n, GOLDEN = 0x9e3779b97f4a7c15n;
function scramble(x) {
    x = (x ^ x >> 30n) * 0xbf58476d1ce4e5b9n & M64;
    x = (x ^ x >> 27n) * 0x94d049bb133111ebn & M64;
    return x ^ x >> 31n;
}
const derive = (k, v) => scramble(k + v + GOLDEN & M64);

/* The manual's algorithm 1 for n up to 2^30, with this number of rounds. */
function algorithm(n, seed, rounds) {
    const s = derive(derive(derive(derive(0n, seed), 0n), 0n), BigInt(n));
    const root = Math.ceil(Math.sqrt(n)), a = root + root % 2;
    const b = Math.max(3, Math.ceil(n / a)), keys = [];
    for (let j = 1n; keys.length < rounds; j++) {
        const word = scramble(s + j * GOLDEN & M64);
        keys.push(Number(word & 0xffffffffn), Number(word >> 32n));
    }
    const hash = (h, key, m, t) => {
        const x = h ^ (key & 0xffff), mul = key >>> 16 | 0x8000;
        const z = Math.imul(x, x * mul >>> 16) & 0xffff;
        return z * (m - (t >> 1) * (m >> 10)) >>> 16;
    };
    return (position) => {
        let i = position;
        do { /* ends: the cycle of a bijection comes back below n */
            let l = Math.floor(i / b), r = i % b;
            for (let t = 0; t < rounds; t++)
                if (t % 2 === 0)
                    l = (l - hash(r, keys[t], a, t) + a) % a;
                else
                    r = (r - hash(l, keys[t], b, t) + b) % b;
            i = l * b + r;
        } while (i >= n);
        return i;
    };
}

function start_plots() {
    const n = 4093, all = new Perm(n, { seed: 42 }).fill(0, n);

    function plot(id, at) {
        const { context, width, height, scale } = sharp($(id));
        const dot = Math.max(1, Math.round(1.3 * scale));
        context.fillStyle = css(rgb("--ink"));
        for (let i = 0; i < n; i++)
            context.fillRect(i / n * (width - dot),
                             (1 - at(i) / n) * (height - dot), dot, dot);
    }

    const draw_rounds = () =>
        plot("plotRounds", algorithm(n, 42n, $("rounds").valueAsNumber));
    slider("rounds", (rounds) => some(rounds, "round"), draw_rounds);
    drawn(() => {
        plot("plotFull", (i) => all[i]);
        draw_rounds();
        plot("plotAffine", (i) => (601 * i + 7) % n);
    });
}

/* --- training ------------------------------------------------------------- */

function start_training() {
    const LEAST = 2000, MOST = 1e6;
    /* A page from disk may not start a worker that is a module, so remove what
       makes the library a module from its text. */
    const plain = $("library").textContent.replace(/^export /gm, "")
        .replaceAll("import.meta.url", "location.href");
    const worker = new Worker(URL.createObjectURL(new Blob(
        ["(async () => {", plain, "{", $("trainer").textContent, "} })()",
         ".catch((error) => setTimeout(() => { throw error; }));"],
        { type: "text/javascript" })));
    let losses = [], steps = 1, phase = "empty", former = "";

    /* Only new losses are drawn; the others stay. */
    let view, shown, sum;
    const OF = 20; /* losses in the mean */

    const x_of = (step) =>
        view.left + step / steps * (view.width - view.left - view.scale);
    const y_of = (bits) =>
        view.bottom - bits / 8 * (view.bottom - 8 * view.scale);

    function draw() {
        view = sharp($("loss"));
        const { context, width, height, scale } = view;
        const left = view.left = 24 * scale;
        view.bottom = height - 8 * scale;
        context.fillStyle = css(rgb("--soft"));
        for (const bits of [0, 2, 4, 6, 8]) {
            context.fillRect(left, y_of(bits), width - left, scale / 2);
            context.fillText(String(bits), 2 * scale, y_of(bits) + 5 * scale);
        }
        context.strokeStyle = css(rgb("--accent"));
        context.lineWidth = 2.5 * scale;
        context.lineJoin = "round";
        shown = sum = 0;
        draw_more();
    }

    function draw_more() {
        const { context, scale } = view, dot = 1.5 * scale;
        const mean = (i) => y_of(sum / Math.min(i + 1, OF));
        context.beginPath();
        if (shown > 0)
            context.moveTo(x_of(shown - 1), mean(shown - 1));
        for (; shown < losses.length; shown++) {
            sum += losses[shown] - (shown >= OF ? losses[shown - OF] : 0);
            context.fillRect(x_of(shown), y_of(losses[shown]), dot, dot);
            context.lineTo(x_of(shown), mean(shown));
        }
        context.stroke();
    }

    /* At most once per frame. */
    let waiting = 0;
    function draw_soon(what) {
        cancelAnimationFrame(waiting);
        waiting = requestAnimationFrame(what);
    }

    const breaks = (number) => number === 0 ? "never interrupted"
        : number === 1 ? "interrupted once" : `interrupted ${number} times`;

    function sentence({ problem, step, epoch, position, samples, worldSize,
                        interruptions, digest }) {
        const ranks = some(worldSize, "rank");
        if (phase === "elsewhere")
            return "Another tab of this page has the run now. Continue it " +
                   "here, or delete it.";
        if (phase === "empty")
            return problem ? "" : "No run is stored. Train, and close the " +
                                  "tab at any time.";
        if (phase !== "done")
            return `Step ${count(step)} of ${count(steps)} on ${ranks}, ` +
                   `epoch ${epoch}, ${breaks(interruptions)}. Next: sample ` +
                   `${count(position)} of ${count(samples)}.`;
        const same = former === "" ? ""
            : former === digest ? " The run before had the same."
            : ` The run before had ${former}.`;
        return `Done on ${ranks}: ${count(step)} steps, ` +
               `${breaks(interruptions)}. Digest of the weights: ` +
               `${digest}.${same}`;
    }

    /* A remark about a file or a button stays for six seconds. */
    let said = -Infinity;
    function remark(text, bad = false) {
        said = performance.now();
        $("trainStatus").ariaLive = "polite";
        say("trainStatus", text, bad);
    }
    const refuse = (why) => remark(`${why}. Nothing has changed.`, true);

    /* Whether the size of the text is allowed. */
    function fits(bytes, what) {
        const good = bytes >= LEAST && bytes <= MOST;
        if (!good)
            refuse(`The ${what} has ${count(bytes)} bytes: it must have ` +
                   `${count(LEAST)} to ${count(MOST)}`);
        return good;
    }

    async function take_text(file) {
        if (!fits(file.size, "file"))
            return undefined;
        try {
            $("text").value = await file.text();
        } catch {
            return refuse(`${short(file)} cannot be read`);
        }
        return remark(`${short(file)} is in the field` +
            (phase === "running" ? "; the run continues with the text it " +
                                   "started with." : ": Train learns it."));
    }

    /* The controls are disabled until the worker's first message. */
    let heard;
    const ready = new Promise((resolve) => { heard = resolve; });
    ready.then(() => {
        $("train").disabled = $("forget").disabled = false;
        $("trainWorldSize").disabled = false;
    });

    worker.addEventListener("message", ({ data }) => {
        const stands = phase === data.phase && performance.now() - said < 6000;
        phase = data.phase;
        steps = data.steps ?? steps;
        if (data.losses) {
            losses = data.losses;
            draw();
        } else if (data.loss !== undefined) {
            losses.push(data.loss);
            draw_soon(draw_more);
        }
        if (data.text)
            $("text").value = data.text;
        /* From the stored run. Later messages may be older than a choice. */
        if (data.worldSize && $("trainWorldSize").disabled)
            $("trainWorldSize").value = data.worldSize;
        document.body.dataset.training = phase;
        $("trainStatus").dataset.step = losses.length;
        $("trainStatus").dataset.digest = data.digest ?? "";
        $("train").textContent = { running: "Pause", paused: "Continue",
                                   elsewhere: "Continue here" }[phase] ??
                                 "Train";
        say("trainProblem", data.problem, true);
        if (!stands) {
            /* Texts that change at every step must not be read aloud. */
            $("trainStatus").ariaLive = phase === "running" ? "off" : "polite";
            say("trainStatus", sentence(data));
        }
        former = data.digest ?? former;
        heard();
    });
    worker.addEventListener("error", (event) =>
        say("trainStatus", "Training does not work here: " +
            `${event.message ?? "the worker does not start"}`, true));

    const chosen = () => Number($("trainWorldSize").value);
    $("train").addEventListener("click", () => {
        const text = new TextEncoder().encode($("text").value);
        const begins = phase === "empty" || phase === "done";
        if (!begins || fits(text.length, "text"))
            worker.postMessage({ shown: phase, text: begins && text,
                                 worldSize: chosen() });
    });
    $("trainWorldSize").addEventListener("change", () =>
        worker.postMessage({ reshapes: true, worldSize: chosen() }));
    $("forget").addEventListener("click", () =>
        worker.postMessage({ forgets: true }));
    /* The default text is the module itself without its base64 strings. */
    $("text").value = $("library").textContent
        .replace(/^const inlined.*$/m, "").replace(/^const PROBE[^;]*;/m, "")
        .replace(/\n{2,}/g, "\n").trim();
    drawn(draw);
    return { take_text, refuse, ready };
}

/* --- dropped files -------------------------------------------------------- */

/* A text in the training section, a state anywhere else. */
function start_drops(run, training) {
    addEventListener("dragover", (event) => {
        if (event.dataTransfer.types.includes("Files"))
            event.preventDefault(); /* but dragged text works as usual */
    });
    addEventListener("drop", async (event) => {
        const [file, ...more] = event.dataTransfer.files;
        if (!file)
            return;
        event.preventDefault();
        const learned = event.target.closest("#training");
        if (more.length > 0)
            return (learned ? training.refuse : refuse_state)(
                `${more.length + 1} files were dropped; drop only one`);
        if (learned)
            return training.take_text(file);
        try {
            run.load(new Uint8Array(await file.slice(0, 4096).arrayBuffer()));
        } catch { /* a folder, or a file that has been removed */
            refuse_state(`${short(file)} cannot be read`);
        }
        return $("loadStatus").scrollIntoView({ block: "nearest" });
    });
}

/* --- self-test ------------------------------------------------------------ */

/* Checks cases of tests/vectors.json, and the algorithm above. */
function check_vectors() {
    const cases = JSON.parse($("vectors").textContent);
    let checked = 0, wrong = 0;
    for (const { n, seed, epoch, stream, first, stride, indices } of cases) {
        const perm = new Perm(BigInt(n), {
            seed: BigInt(seed), epoch: BigInt(epoch), stream: BigInt(stream),
            bigint: true });
        const found = perm.fill(BigInt(first), indices.length, BigInt(stride));
        indices.forEach((index, i) => {
            checked++;
            wrong += found[i] !== BigInt(index);
        });
    }
    const n = 4093, by_hand = algorithm(n, 42n, 24);
    new Perm(n, { seed: 42 }).fill(0, n).forEach((index, i) => {
        checked++;
        wrong += by_hand(i) !== index;
    });
    say("check", wrong === 0
        ? `Self-test in this browser${simd ? ", with SIMD" : ""}: ` +
          `${count(checked)} indices agree with tests/vectors.json and with ` +
          "the manual's algorithm."
        : `Self-test in this browser: ${count(wrong)} of ${count(checked)} ` +
          "indices are WRONG.", wrong > 0);
    document.body.dataset.wrong = wrong;
}

const run = start_run();
start_bytes(run);
start_table();
start_mix();
start_plots();
check_vectors();
const training = start_training();
start_drops(run, training);
await training.ready;
document.body.dataset.ready = "yes";
