/* page.mjs - the program of index.html. Each section of the page is a function
   with its own state. */
const $ = (id) => document.getElementById(id);
const library = URL.createObjectURL(new Blob([$("library").textContent],
                                             { type: "text/javascript" }));
const { Audit, Mix, Perm, Sampler, describeState, simd } =
    await import(library);

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

/* The pixels of a cell, s wide: how much of the colour they have where the
   pattern is on, and elsewhere. */
function tile(colour, on, [most, least], s, tall = s) {
    const paper = rgb("--cell"), pixels = new Uint32Array(s * tall);
    const full = pack(blend(colour, paper, most));
    const half = pack(blend(colour, paper, least));
    const p = Math.max(1, Math.round(s / 5));
    for (let y = 0; y < tall; y++)
        for (let x = 0; x < s; x++)
            pixels[y * s + x] = s < 4 || on(x, y, p, s) ? full : half;
    return pixels;
}

/* A rank's; pale if served before a kill. */
const rank_tile = (rank, pale, s, tall) =>
    tile(COLOURS[rank], PATTERNS[rank], pale ? [0.5, 0.25] : [1, 0.4], s, tall);

/* Of a sample that was served once, repeatedly, or never. */
const FAULTS = { once: ["--soft", PATTERNS[0], [0.5, 0.5]],
                 repeated: ["--accent", PATTERNS[3], [1, 0.4]],
                 missed: ["--ink", PATTERNS[6], [1, 0]] };
const fault_tile = ([name, on, shares], s, tall) =>
    tile(rgb(name), on, shares, s, tall);

/* Gives a canvas the resolution of the screen, or another one. */
function sharp(canvas, scale = devicePixelRatio) {
    const box = canvas.getBoundingClientRect();
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

/* Puts the pixels of a square cell on a canvas. */
function put(canvas, pixels) {
    const s = canvas.width = canvas.height = Math.sqrt(pixels.length);
    canvas.getContext("2d").putImageData(new ImageData(
        new Uint8ClampedArray(pixels.buffer), s, s), 0, 0);
    return canvas;
}

/* A rank's pattern, to fill rectangles of a canvas. */
const paint = (context, rank) => context.createPattern(
    put(new OffscreenCanvas(1, 1),
        rank_tile(rank, false, 10 * devicePixelRatio | 0)), "repeat");

/* An entry of a legend: a cell, and words. */
function entry(pixels, words) {
    const item = document.createElement("li");
    item.append(put(document.createElement("canvas"),
                    pixels(Math.round(16 * devicePixelRatio))), words);
    return item;
}

/* Sets a text. An unchanged text must not be read aloud again. */
function say(id, text, problem = false) {
    if ($(id).textContent !== text)
        $(id).textContent = text;
    $(id).classList.toggle("problem", problem);
}

/* Shows how an epoch ended, until the next one has; or nothing. */
function stamp(id, words = "", bad = false) {
    say(id, words);
    $(id).classList.toggle("bad", bad);
}

const through = (kills) => kills === 0 ? ""
    : `, through ${kills === 1 ? "a kill" : `${kills} kills`}`;

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

/* --- a grid of samples ---------------------------------------------------- */

/* A cell for each sample, painted by its kind, a number; 0 at first. If there
   are more samples than pixels, each pixel stands for one of them, and the
   pixels are as large as on an ordinary screen, since finer ones look the same
   and take longer. make_tiles returns the pixels of each kind's cell, of a
   width and a height. */
function make_grid(id, make_tiles) {
    let n = 0, kinds, view, cell, tall, columns, image, pixels, tiles;

    const sample_of = (pixel) => Math.floor(pixel * n / pixels.length);

    function paint_cell(i) {
        const from = tiles[kinds[i]], gap = cell > 5 ? 1 : 0;
        const start = Math.floor(i / columns) * tall * view.width +
                      i % columns * cell;
        for (let y = 0; y < tall - gap; y++)
            for (let x = 0; x < cell - gap; x++)
                pixels[start + y * view.width + x] = from[y * cell + x];
    }

    function paint_all() {
        if (cell > 0)
            for (let i = 0; i < n; i++)
                paint_cell(i);
        else
            for (let pixel = 0; pixel < pixels.length; pixel++)
                pixels[pixel] = tiles[kinds[sample_of(pixel)]][0];
        show();
    }

    const show = () => view.context.putImageData(image, 0, 0);

    /* The largest cells that fit. */
    function layout() {
        view = sharp($(id));
        if (n > view.width * view.height)
            view = sharp($(id), Math.min(1, devicePixelRatio));
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
        tiles = [new Uint32Array(s * t).fill(pack(rgb("--cell"))),
                 ...make_tiles(s, t)];
        paint_all();
    }

    return {
        clear(samples) {
            n = samples;
            kinds = new Uint8Array(n);
            layout();
        },
        kind: (i) => kinds[i],
        set(i, kind) {
            kinds[i] = kind;
            const pixel = cell > 0 ? 0 : Math.ceil(i * pixels.length / n);
            if (cell > 0)
                paint_cell(i);
            else if (sample_of(pixel) === i)
                pixels[pixel] = tiles[kind][0];
        },
        /* Gives every sample the kind that the list has for its kind. */
        change(list) {
            for (let i = 0; i < n; i++)
                kinds[i] = list[kinds[i]];
            paint_all();
        },
        layout,
        show,
    };
}

/* --- an ordinary sampler -------------------------------------------------- */

/* The same run by a shuffled table, of which rank r takes every W-th entry. Its
   checkpoint is the number of steps, and it resumes by drawing as many batches
   on each rank and throwing them away, as torch's DistributedSampler with
   accelerate's skip_first_batches does. So on W ranks step k is at position
   k * W * batchSize, whatever was served before. */
function make_other() {
    const grid = make_grid("otherGrid", (s, t) =>
        Object.values(FAULTS).map((fault) => fault_tile(fault, s, t)));
    let desc, all, next, more, kills, thrown, distinct, repeated;
    let found; /* the verdict of this epoch, once it has ended */

    /* Without padding or drops: what was asked for is no fault. */
    const on = (worldSize) => new Sampler({
        ...desc, batchSize: desc.batchSize * worldSize, tail: "uneven" });

    function finish() {
        const missed = desc.numSamples - distinct, bad = repeated + missed > 0;
        more = false;
        grid.change([3, 1, 2, 3]);
        found = bad ? `${count(repeated)} repeated, ${count(missed)} missed`
            : "each sample exactly once";
        stamp("otherStamp", `Epoch ${count(desc.epoch)}: ${found}` +
                            `${through(kills)}.`, bad);
    }

    return {
        /* why_not: why there is nothing to show. */
        begin(description, worldSize, why_not) {
            desc = description;
            all = on(worldSize);
            more = why_not === "";
            found = "";
            next = kills = thrown = distinct = repeated = 0;
            grid.clear(desc.numSamples);
            $("otherGrid").classList.toggle("hidden", !more);
            say("otherWhyNot", why_not);
        },
        resume(worldSize) {
            if (!more)
                return;
            all = on(worldSize);
            thrown += next;
            kills++;
        },
        step() {
            const batch = more ? all.at(next++) : [];
            if (batch === null)
                return finish();
            for (const i of batch) {
                const kind = grid.kind(i);
                distinct += kind === 0;
                repeated += kind === 1;
                grid.set(i, kind === 0 ? 1 : 2);
            }
            return undefined;
        },
        tell() {
            say("otherCount", $("otherWhyNot").textContent ? ""
                : `Repeated: ${count(repeated)}. Batches drawn again and ` +
                  `thrown away, per rank: ${count(thrown)}.`);
        },
        layout: grid.layout,
        show: grid.show,
        get more() {
            return more;
        },
        /* Where it is, or how its epoch ended; or nothing. */
        get place() {
            const words = more ? `step ${count(next)} of ${count(all.numSteps)}`
                : found;
            return words && ` Ordinary sampler: ${words}.`;
        },
    };
}

/* --- the run -------------------------------------------------------------- */

function start_run() {
    const RANKS = COLOURS.length, EPOCH_SECONDS = 16, MOST = 1000000n;
    const PALE = [0, 9, 10, 11, 12, 13, 14, 15, 16,
                  9, 10, 11, 12, 13, 14, 15, 16];
    const other = make_other();
    const grid = make_grid("grid", (s, t) => PALE.slice(1).map((_, i) =>
        rank_tile(i % RANKS, i >= RANKS, s, t)));
    let numSamples, seed = 42n; /* the last valid ones */
    let desc, samplers = [], state, audit, again, kills, history, frame = 0;
    let epoch; /* a bigint: in a state it may be above 2^53 */
    let most; /* the largest number of ranks in this epoch */
    let phase = "running"; /* or paused, killed, over */
    let over = false; /* the epoch has ended, also where it is paused */
    let stopped = CALM.matches; /* with reduced motion, starts paused */
    let due = 0, last = 0, rest = 0;
    let told, told_at; /* the state that is shown, and since when */
    let untold = false; /* whether words have changed since */

    const sampler = (rank, worldSize) =>
        new Sampler({ ...desc, rank, worldSize });
    const ranks_of = (worldSize) =>
        Array.from({ length: worldSize },
                   (_, rank) => sampler(rank, worldSize));

    /* Saves the state, and draws the pictures. */
    function draw() {
        state = samplers[0].save();
        draw_steps();
        grid.show();
        other.show();
    }

    let strip; /* the canvas of steps, with images of full steps */
    function lay_steps() {
        strip = sharp($("steps"));
        strip.paints = COLOURS.map((_, rank) => paint(strip.context, rank));
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

    /* Draws each rank's batches in the last steps, unless they look the same as
       those that were drawn. */
    function draw_steps() {
        const { context, width, height, scale } = strip;
        const wide = 10 * scale, room = Math.floor(width / wide);
        const last = history.slice(-room), looks = JSON.stringify(last);
        if (looks === strip.looks)
            return;
        strip.looks = looks;
        context.clearRect(0, 0, width, height);
        last.forEach(({ ranks, kill }, i) => {
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
        $("ranks").replaceChildren(...COLOURS.slice(0, most).map((_, rank) =>
            entry((s) => rank_tile(rank, rank >= samplers.length, s),
                  `rank ${rank}`)));
    }

    function draw_kinds() {
        $("kinds").replaceChildren(
            entry((s) => rank_tile(0, false, s), "rank's colour"),
            entry((s) => rank_tile(0, true, s), "before a kill"));
        $("otherKinds").replaceChildren(...Object.entries(FAULTS).map(
            ([words, fault]) => entry((s) => fault_tile(fault, s), words)));
    }

    function serve(rank, batch) {
        for (const index of batch) {
            again += grid.kind(index) > 0;
            grid.set(index, 1 + rank);
        }
        audit.add(batch);
    }

    /* One step of all ranks; false at the end of the epoch. */
    function step(kill) {
        const ranks = [], at = samplers[0].step;
        for (const [rank, one] of samplers.entries()) {
            const batch = one.next();
            if (batch === null)
                continue;
            serve(rank, desc.tail !== "pad" ? batch
                : batch.subarray(0, batch.length - one.padding(at)));
            ranks.push(batch.length / desc.batchSize);
        }
        if (ranks.length === 0)
            return false;
        history.push({ ranks, kill });
        if (history.length > 1000)
            history.shift();
        return true;
    }

    /* A step of both samplers, of each until its epoch ends. */
    function advance(kill) {
        over ||= !step(kill);
        other.step();
    }

    function verdict() {
        const n = desc.numSamples, served = audit.count;
        const dropped = desc.tail === "drop" ? n - served : 0;
        if (desc.order === "replacement")
            return `${count(served)} draws, ${count(served - again)} ` +
                   "different samples";
        if (audit.check(n))
            return `${count(n)} of ${count(n)} samples, each exactly once`;
        if (dropped > 0 && again === 0)
            return `${count(served)} of ${count(n)} samples, none twice; ` +
                   `${count(dropped)} dropped by the tail rule`;
        return `WRONG. ${count(served)} served, ${count(again)} twice`;
    }

    function status() {
        const [first] = samplers, n = count(desc.numSamples);
        /* Padding at the end of an epoch has positions, but no samples. */
        const served = Math.min(first.position, desc.numSamples);
        if (over)
            return `Epoch ${count(epoch)}: ${verdict()}${through(kills)}.` +
                   other.place;
        if (phase === "killed")
            return `Killed at step ${count(first.step)}: ` +
                   `${count(served)} of ${n} samples served (now ` +
                   "pale). Only 112 bytes are left.";
        return `Epoch ${count(epoch)}, step ${count(first.step)} of ` +
               `${count(first.numSteps)} on ` +
               `${some(samplers.length, "rank")}: ` +
               `${count(audit.count)} of ${n} samples served.`;
    }

    /* All words and bytes. */
    function tell() {
        told_at = performance.now();
        untold = false;
        /* Texts that change all the time must not be read aloud. */
        $("status").ariaLive = phase === "running" ? "off" : "polite";
        say("status", status());
        say("count", desc.order === "replacement" ? ""
            : `Repeated: ${count(again)}.`);
        other.tell();
        if (told !== state)
            show_state(state, told);
        told = state;
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
        rest = 4; /* seconds before the next epoch */
        if (moves() && frame === 0) {
            last = performance.now();
            frame = requestAnimationFrame(tick);
        }
        buttons();
        if (phase === "over")
            stamp("stamp", `Epoch ${count(epoch)}: ${verdict()}` +
                           `${through(kills)}.`, /^WRONG/.test(verdict()));
        tell();
    }

    /* why_not: why the ordinary sampler has nothing to show. */
    function begin_epoch(why_not = "") {
        ({ epoch } = describeState(samplers[0].save()));
        audit = new Audit();
        again = kills = due = 0;
        most = 0;
        over = false;
        history = [];
        draw_ranks();
        grid.clear(desc.numSamples);
        other.begin({ ...desc, epoch }, samplers.length,
                    desc.order !== "replacement" ? why_not
                        : "Random draws: there is nothing to compare.");
    }

    /* At most 200 steps at a time, so that a tab that was hidden does not catch
       up. The ordinary sampler may need more steps than the run. Words change
       ten times a second: a layout takes longer than the steps. */
    function tick(now) {
        frame = moves() ? requestAnimationFrame(tick) : 0;
        const passed = Math.min(now - last, 100) / 1000;
        last = now;
        if (!moves())
            return;
        let moved = false;
        if (!over || other.more)
            due += passed * samplers[0].numSteps / EPOCH_SECONDS;
        for (due = Math.min(due, 200); due >= 1; due--) {
            advance(false);
            moved = true;
        }
        if (moved)
            draw();
        untold ||= moved;
        if (phase === "running" && over)
            enter("over");
        else if (untold && now - told_at >= 100)
            tell();
        if (phase === "over" && !other.more && (rest -= passed) < 0) {
            begin_epoch();
            enter("running");
        }
    }

    /* Starts a new run with the values of the controls. */
    function begin() {
        desc = { numSamples, seed, batchSize: $("batchSize").valueAsNumber,
                 order: $("order").value, tail: $("tail").value,
                 chunkSize: 64, window: 4 };
        samplers = ranks_of($("worldSize").valueAsNumber);
        told = samplers[0].save();
        begin_epoch();
        stamp("stamp");
        stamp("otherStamp");
        if (stopped) /* show the effect of the controls all the same */
            for (let i = Math.ceil(samplers[0].numSteps / 2); i > 0; i--)
                advance(false);
        due = 1;
        draw();
        enter(stopped ? "paused" : "running");
    }

    /* With an invalid seed the last valid one stays. */
    function take_seed() {
        const value = number("seed", 0n, MAX_SEED);
        seed = value ?? seed;
        return value !== null;
    }

    /* While a verdict is shown, this kills the next epoch at its start. */
    function kill() {
        if (over)
            begin_epoch();
        grid.change(PALE);
        kills++;
        enter("killed");
    }

    /* Takes nothing from the killed run except its state. */
    function resume() {
        samplers = ranks_of($("newWorldSize").valueAsNumber);
        samplers.forEach((one) => one.load(state));
        other.resume(samplers.length);
        $("worldSize").value = samplers.length;
        tell_ranks();
        draw_ranks();
        due = 0;
        stopped = false;
        advance(true);
        draw();
        enter(over ? "over" : "running");
    }

    /* A state that is refused has changed nothing. */
    function load(bytes) {
        let next, before;
        try {
            next = ranks_of(samplers.length);
            next.forEach((one) => one.load(bytes));
            before = served_before(next[0]);
        } catch (error) {
            return refuse_state(error.message);
        }
        samplers = next;
        begin_epoch("A loaded state: there is nothing to compare before the " +
                    "next epoch.");
        stamp("stamp");
        stamp("otherStamp");
        before.forEach((batch) => serve(0, batch));
        grid.change(PALE);
        draw();
        enter(stopped ? "paused" : "running");
        return say("loadStatus", "Loaded: the run continues at step " +
                                 `${count(samplers[0].step)}.`);
    }

    /* What had been served before a sampler's state was saved. */
    function served_before(one) {
        const { epoch } = describeState(one.save()), batches = [];
        const all = new Sampler({ ...desc, epoch, batchSize: 4096,
                                  tail: "uneven" });
        for (const batch of all) {
            const left = one.position - 4096 * batches.length;
            if (left <= 0)
                break;
            batches.push(batch.subarray(0, left));
        }
        return batches;
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
    draw_kinds();
    take_seed();
    sample_slider("numSamples", 10n, MOST, (samples) => {
        numSamples = samples;
        begin();
    }, `The picture shows at most ${count(MOST)}. A trillion is below.`);
    drawings.push(grid.layout, other.layout, lay_steps, draw_ranks, draw_kinds);
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

const MOST_PASTED = 4096; /* of a file, too */

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
        const { length } = $("paste").value;
        if (length > MOST_PASTED)
            return refuse_state(`this has ${count(length)} characters, a ` +
                                "state has 224 hexadecimal digits");
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
            /* Without patterns, of which a narrow bar shows only a part. */
            context.fillStyle = css(blend(
                COLOURS[source], rgb("--cell"),
                taken[source] >= LENGTHS[source] ? 0.5 : 1));
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

/* The manual's algorithm 1 for n up to 2^30, with this number of rounds: the
   module has no choice of rounds, as fewer would be another order. */
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

/* --- texts ---------------------------------------------------------------- */

/* The text of a file's bytes, or null if they are none: pictures, archives and
   programs soon have a byte that no text has. */
function text_in(bytes) {
    const [first, second] = bytes;
    const kind = first === 0xff && second === 0xfe ? "utf-16le"
        : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
    let text;
    try {
        text = new TextDecoder(kind, { fatal: true }).decode(bytes);
    } catch {
        text = new TextDecoder("windows-1252").decode(bytes);
    }
    return /[\0-\x08\x0e-\x19]/.test(text) ? null : text;
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
                        interruptions, digest, alone }) {
        const ranks = some(worldSize, "rank");
        if (phase === "elsewhere")
            return (alone ? "The tab that took the run over is closed."
                : "Another tab of this page has taken the run over.") +
                " Continue it here, or delete it.";
        if (phase === "empty")
            return problem ? "" : "No run is stored. Train, and close the " +
                                  "tab at any time.";
        if (phase !== "done")
            return `Step ${count(step)} of ${count(steps)} on ${ranks}, ` +
                   `epoch ${epoch}, ${breaks(interruptions)}: ` +
                   `${count(position)} of its ${count(samples)} samples are ` +
                   "done.";
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
        const bytes = await file.arrayBuffer().catch(() => null);
        if (!bytes)
            return refuse(`${short(file)} cannot be read`);
        const text = text_in(new Uint8Array(bytes));
        if (text === null)
            return refuse(`${short(file)} is not a text, but a picture or ` +
                          "another file of bytes");
        /* The field has it in UTF-8, and with lines that end in one byte. */
        const utf8 = new TextEncoder().encode(text.replace(/\r\n/g, "\n"));
        if (!fits(utf8.length, "text"))
            return undefined;
        $("text").value = text;
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
        const bytes = await file.slice(0, MOST_PASTED).arrayBuffer()
            .catch(() => null); /* a folder, or a file that has been removed */
        if (bytes)
            run.load(new Uint8Array(bytes));
        else
            refuse_state(`${short(file)} cannot be read`);
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

/* --- the header ----------------------------------------------------------- */

/* The page has it with it, compressed, as a file to save. */
async function offer_header() {
    const packed = Uint8Array.from(atob($("packed").textContent),
                                   (c) => c.charCodeAt(0));
    const text = new Response(new Blob([packed]).stream()
        .pipeThrough(new DecompressionStream("gzip")));
    $("header").href = URL.createObjectURL(await text.blob());
}

const run = start_run();
start_bytes(run);
start_table();
start_mix();
start_plots();
check_vectors();
const training = start_training();
start_drops(run, training);
await Promise.all([training.ready, offer_header()]);
document.body.dataset.ready = "yes";
