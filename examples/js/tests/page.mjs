/* page.mjs - do the page and the module work in a browser?

       node [--test-name-pattern=...] examples/js/tests/page.mjs

   in the project's root, after make web: all tests, or some, in one headless
   Chromium. A test is a `page_test` of this file; it drives a page by mouse and
   keyboard. CTest runs some of them in each of its tests. */
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, NoChromium, open } from "./chromium.mjs";

const url = "file://" + path.resolve("build/web/index.html");
const module = path.resolve("build/web/statesampler.mjs");
/* Chromium finds dropped files by their whole path only. */
const profile = fs.mkdtempSync(path.join(path.resolve(os.tmpdir()), "page"));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let browser = await launch(profile).catch((error) => {
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    if (!(error instanceof NoChromium))
        throw error;
    console.log(`skip The page in Chromium: it does not start here: ` +
                error.message);
    process.exit(0);
});
/* Without motion: where only training is asked, the run need not be drawn. */
const CALM = { calm: true };

const text = (page, id) =>
    page.evaluate(`document.getElementById("${id}").textContent`);
const bytes = (page) => page.evaluate(
    `Array.from(document.querySelectorAll("#bytes b"),
                (cell) => cell.textContent).join("")`);
async function status_has(page, id, words, seconds = 60) {
    const text = `document.getElementById("${id}").textContent`;
    try {
        await page.until(`${text}.includes("${words}")`, seconds);
    } catch (error) {
        const found = await page.evaluate(text);
        throw new Error(`${error.message}: it is "${found}"`);
    }
}

/* Puts text into a field, in place of what is there. */
async function enter_text(page, id, words) {
    await page.click("#" + id);
    await page.evaluate(`document.getElementById("${id}").select()`);
    await page.type(words);
    await page.press("Tab", 9);
}

/* A test of the page: what `call` does with a page that it opens and returns,
   which must have no error then. */
function page_test(name, call) {
    test(name, async (t) => {
        try {
            const page = await call(t);
            assert.deepEqual(page?.errors ?? [], []);
            await page?.close();
        } catch (error) {
            /* The next one finds nothing of this one. */
            await browser.kill();
            browser = await launch(profile);
            throw error;
        }
    });
}

after(async () => {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
});

/* --- tests ---------------------------------------------------------------- */

page_test("vectors", async (t) => {
    const page = await open(browser, url);
    assert.equal(await page.evaluate("document.body.dataset.wrong"), "0");
    t.diagnostic((await text(page, "check")).match(/[\d,]+ indices/)[0]);
    const fetched = await page.evaluate(
        "performance.getEntriesByType('resource').map((one) => one.name)");
    assert.deepEqual(fetched.filter((name) => !/^(blob|data):/.test(name)), []);
    return page;
});

/* The killed run's bytes are those that the library has at that step; the run
   goes on from them, and the audit finds each sample once. */
page_test("kill_and_resume", async () => {
    const page = await open(browser, url);
    await enter_text(page, "numSamplesText", "1000");
    await page.until("/step [3-9] of 16 /.test(" +
                     "document.getElementById('status').textContent)");
    await page.evaluate("document.getElementById('kill').focus()");
    await page.press("Enter", 13);
    await status_has(page, "status", "Killed at step");
    const killed = await bytes(page);
    await wait(1500);
    assert.equal(await bytes(page), killed);

    const { Sampler } = await import(module);
    const sampler = new Sampler({ numSamples: 1000, seed: 42, batchSize: 8,
                                  worldSize: 8, tail: "uneven" });
    sampler.seek(Number((await text(page, "status")).match(/step (\d+)/)[1]));
    assert.equal(killed, Buffer.from(sampler.save()).toString("hex"));

    await page.evaluate("document.getElementById('newWorldSize').focus()");
    await page.press("ArrowLeft", 37);
    await page.press("ArrowLeft", 37);
    assert.equal(await text(page, "resumeOn"), "3");
    await page.click("#resume");
    await status_has(page, "status", "on 3 ranks");
    const legend = () =>
        page.evaluate("document.querySelectorAll('#ranks li').length");
    assert.equal(await legend(), 8, "all are in the picture");
    await page.click("#kill");
    await page.click("#resume");
    const verdict = "Epoch 0: 1,000 of 1,000 samples, each exactly once, " +
                    "through 2 kills.";
    await status_has(page, "stamp", verdict);
    /* Under the verdict the next epoch is killed: nothing of it is served. */
    await page.click("#kill");
    await status_has(page, "status", "Killed at step 0: 0 of 1,000");
    await page.click("#resume");
    await page.until("/^Epoch 1, step .*: [1-9]\\d? of 1,000 samples/.test(" +
                     "document.getElementById('status').textContent)");
    assert.equal(await legend(), 3);
    assert.equal(await text(page, "stamp"), verdict);
    return page;
});

/* Five times as fast, where the end of an epoch is awaited. */
const FAST = { before: `{
    const [frame, now] = [requestAnimationFrame, performance.now];
    window.requestAnimationFrame = (call) => frame((time) => call(5 * time));
    performance.now = () => 5 * now.call(performance);
}` };

/* What the ordinary sampler serves of 1,000 samples, by a table: kills are
   pairs of a number of steps and the ranks after it. */
async function by_table(worldSize, kills) {
    const { Perm } = await import(module);
    const order = new Perm(1000, { seed: 42 }).fill(0, 1000);
    const times = Array(1000).fill(0);
    let step = 0, thrown = 0;
    for (const [killed, resumed] of [...kills, [Infinity, 0]]) {
        for (; step < killed && step * 8 * worldSize < 1000; step++)
            for (let i = 0; i < 8 * worldSize; i++)
                times[order[step * 8 * worldSize + i]]++;
        if (resumed)
            thrown += step;
        worldSize = resumed;
    }
    const words = (number) => number.toLocaleString("en-US");
    const repeated = words(times.filter((one) => one > 1).length);
    const missed = words(times.filter((one) => one === 0).length);
    return [repeated, missed, words(thrown)];
}

/* Beside the run: what an ordinary sampler repeats, misses and throws away,
   on fewer ranks, on more, and on as many, where it is right. */
page_test("ordinary", async (t) => {
    const page = await open(browser, url, FAST);
    const colours = () => page.evaluate(`(() => {
        const canvas = document.getElementById("otherGrid");
        const { data } = canvas.getContext("2d").getImageData(
            0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    })()`);
    const press = (id) =>
        page.evaluate(`document.getElementById("${id}").click()`);
    const set = (id, value) => page.evaluate(`{
        const input = document.getElementById("${id}");
        input.value = ${value};
        input.dispatchEvent(new Event("input"));
    }`);
    await enter_text(page, "numSamplesText", "1000");
    const found = [];
    for (const [begins, ...resumes] of [[8, 3], [3, 8], [4, 4], [6, 2, 7]]) {
        const kills = [];
        await set("worldSize", begins);
        assert.equal(await text(page, "otherStamp"), "", "a new run");
        for (const resumed of resumes) {
            const step = kills.length === 0 ? 2 : kills[0][0] + 2;
            await page.until(`document.getElementById("status").textContent
                .match(/step (\\d+) of/)?.[1] >= ${step}`);
            await press("kill");
            kills.push([Number((await text(page, "status"))
                .match(/step (\d+)/)[1]), resumed]);
            await set("newWorldSize", resumed);
            await press("resume");
        }
        const [repeated, missed, thrown] = await by_table(begins, kills);
        await page.until(
            "document.getElementById('otherStamp').textContent", 30);
        assert.equal(await text(page, "otherStamp"), "Epoch 0: " +
            (repeated + missed === "00" ? "each sample exactly once"
                : `${repeated} repeated, ${missed} missed`) +
            `, through ${kills.length === 1 ? "a kill" : "2 kills"}.`);
        assert.equal(await text(page, "otherCount"), `Repeated: ${repeated}. ` +
            `Batches drawn again and thrown away, per rank: ${thrown}.`);
        /* One of the gaps and "once"; one or two of each fault. */
        assert.equal(await colours(),
                     2 + 2 * (repeated !== "0") + 2 * (missed !== "0"));
        await status_has(page, "stamp", "1,000 of 1,000 samples, each exactly");
        found.push(`${begins} to ${resumes.join(" to ")}: ${repeated}, ` +
                   missed);
    }
    /* What it stays at, until the next epoch ends. */
    const stamps = await text(page, "otherStamp");
    await status_has(page, "status", "Epoch 1, step 2 ");
    assert.equal(await text(page, "otherStamp"), stamps);
    /* Who pauses it after its end finds it so, and the next epoch is whole. */
    const whole = "Epoch 1: 1,000 of 1,000 samples, each exactly once. " +
        "Ordinary sampler: each sample exactly once.";
    await status_has(page, "status", whole);
    await press("pause");
    assert.equal(await text(page, "status"), whole);
    await press("pause");
    await status_has(page, "stamp", "Epoch 2: 1,000 of 1,000 samples, each");
    /* Where there is nothing to compare, it says why. */
    const hidden = () => page.evaluate(`getComputedStyle(
        document.getElementById("otherGrid")).visibility`);
    await page.choose("#order", "replacement");
    assert.match(await text(page, "otherWhyNot"), /^Random draws/);
    assert.equal(await hidden(), "hidden");
    assert.equal(await text(page, "otherCount"), "");
    await status_has(page, "stamp", "Epoch 0: 1,000 draws, ");
    assert.equal(await page.evaluate(
        "document.getElementById('stamp').className"), "stamp");
    await page.choose("#order", "window");
    assert.equal(await text(page, "otherWhyNot"), "");
    assert.equal(await hidden(), "visible");
    await press("kill");
    await set("paste", JSON.stringify(await bytes(page)));
    await press("load");
    assert.match(await text(page, "otherWhyNot"), /^A loaded state/);
    assert.equal(await hidden(), "hidden");
    await status_has(page, "status", "Epoch 1, ");
    assert.equal(await hidden(), "visible");
    t.diagnostic(found.join("; "));
    return page;
});

/* On a phone who has killed it sees how both samplers have ended the epoch,
   above the buttons, without scrolling. */
page_test("verdicts_in_sight", async () => {
    for (const [width, height] of [[390, 844], [375, 667]]) {
        const page = await open(browser, url,
                                { ...FAST, width, height, phone: true });
        await enter_text(page, "numSamplesText", "1000");
        await page.until("/step [3-9] of/.test(" +
                         "document.getElementById('status').textContent)");
        await page.click("#kill");
        await page.click("#resume");
        const words = "Epoch 0: 1,000 of 1,000 samples, each exactly once, " +
            "through a kill. Ordinary sampler: [1-9]\\d* repeated, 0 missed.$";
        await page.until(`${RegExp(words)}.test(
            document.getElementById("status").textContent) &&
            (document.getElementById("pause").click(), true)`);
        const left = await page.evaluate(`(() => {
            scrollTo(0, 0);
            const range = document.createRange();
            range.selectNodeContents(document.getElementById("status"));
            const { top } = document.querySelector("#run .buttons")
                .getBoundingClientRect();
            return top - range.getBoundingClientRect().bottom;
        })()`);
        assert.ok(left >= 5, `${width} x ${height}: ${left} pixels are left`);
        assert.deepEqual(page.errors, []);
        await page.close();
    }
});

/* A state of the last epochs that there are, pasted and dropped: it goes on,
   or, where it is another dataset's, nothing has changed. */
page_test("far_epochs", async () => {
    const { Sampler } = await import(module);
    const page = await open(browser, url, { ...FAST, calm: true });
    const state = (epoch, numSamples) => {
        const sampler = new Sampler({ numSamples, seed: 42, tail: "uneven",
                                      epoch, bigint: true });
        sampler.seek(1200);
        return sampler.save();
    };
    const paste = async (state) => {
        await enter_text(page, "paste", Buffer.from(state).toString("hex"));
        await page.click("#load");
    };
    for (const epoch of [2n ** 53n, 2n ** 64n - 1n]) {
        const name = epoch.toLocaleString("en-US");
        const next = BigInt.asUintN(64, epoch + 1n).toLocaleString("en-US");
        const file = path.join(profile, `epoch ${epoch}`);
        fs.writeFileSync(file, state(epoch, 2512));
        for (const load of [
            () => drop_says(page, "#grid", file, "loadStatus", "Loaded: "),
            () => paste(state(epoch, 2512))]) {
            const before = [await bytes(page), await text(page, "status")];
            await paste(state(epoch, 2500));
            assert.match(await text(page, "loadStatus"), /^Not loaded: /);
            assert.deepEqual([await bytes(page), await text(page, "status")],
                             before);
            await load();
            assert.match(await text(page, "loadStatus"), /^Loaded: /);
            assert.match(await text(page, "status"), RegExp(
                `^Epoch ${name}, step 1,200 of .* 1,200 of 2,512 samples`));
        }
        await page.click("#pause");
        for (const one of [name, next])
            await status_has(page, "stamp", `Epoch ${one}: 2,512 of ` +
                             "2,512 samples, each exactly once.");
        await page.click("#pause");
    }
    return page;
});

/* The header itself is on the page, and is saved as it is. */
page_test("header_saved", async () => {
    const folder = path.join(profile, "saved");
    fs.mkdirSync(folder);
    await browser.send("Browser.setDownloadBehavior",
                       { behavior: "allow", downloadPath: folder });
    const page = await open(browser, url, CALM);
    await page.click("#header");
    const file = path.join(folder, "statesampler.h");
    for (let i = 0; i < 100 && !fs.existsSync(file); i++)
        await wait(100);
    assert.ok(fs.readFileSync(file).equals(fs.readFileSync("statesampler.h")));
    return page;
});

/* Whose version it is, under which licence. */
page_test("about", async () => {
    const page = await open(browser, url, CALM);
    const { version } = await import(module);
    assert.match(await text(page, "about"), RegExp(
        `^statesampler.h ${version}, public domain or MIT.* end\\.\\s*$`, "s"));
    return page;
});

/* No two ranks have the same colour, nor, for those who see no colours, the
   same pattern. A cell's full colour is the one farthest from the paper. */
page_test("distinct_ranks", async () => {
    const page = await open(browser, url, CALM);
    const [patterns, colours] = await page.evaluate(`(() => {
        const cells = Array.from(document.querySelectorAll("#ranks canvas"),
            (cell) => new Uint32Array(cell.getContext("2d").getImageData(
                0, 0, cell.width, cell.height).data.buffer));
        const channels = (pixel) =>
            [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255];
        const paper = getComputedStyle(document.documentElement)
            .getPropertyValue("--cell").trim();
        const distance = (pixel) => Math.hypot(...channels(pixel).map(
            (x, i) => x - parseInt(paper.substr(1 + 2 * i, 2), 16)));
        const colours = cells.map((cell) => cell.reduce(
            (a, b) => distance(a) < distance(b) ? b : a));
        const patterns = cells.map((cell, i) => Array.from(cell,
            (pixel) => Number(pixel === colours[i])).join(""));
        return [patterns, colours];
    })()`);
    assert.equal(new Set(colours).size, 8);
    assert.equal(new Set(patterns).size, 8);
    return page;
});

/* A run that is killed when padding has filled its last step has not served
   more than there is. */
page_test("padded_end", async () => {
    const page = await open(browser, url, CALM);
    await page.choose("#tail", "pad");
    await enter_text(page, "numSamplesText", "2509");
    const { Sampler } = await import(module);
    const last = new Sampler({ numSamples: 2509, seed: 42, batchSize: 8,
                               worldSize: 8 });
    last.seek(last.numSteps - 1);
    last.skip();
    assert.equal(last.position, 2512);
    await enter_text(page, "paste", Buffer.from(last.save()).toString("hex"));
    await page.click("#load");
    await page.click("#kill");
    await status_has(page, "status", "2,509 of 2,509 samples served", 5);
    return page;
});

/* Every slider says what its number is of, and every control has a sentence; a
   field and its slider stand at the same number. */
page_test("controls", async () => {
    const page = await open(browser, url, CALM);
    const value_text = (id) => page.evaluate(
        `document.getElementById("${id}").getAttribute("aria-valuetext")`);
    const units = { newWorldSize: "5 ranks", numSamples: "2,512 samples",
                    worldSize: "8 ranks", batchSize: "8 samples a rank",
                    tableSize: "1,000,000,000 samples", weight0: "weight 3",
                    weight1: "weight 2", weight2: "weight 1",
                    rounds: "12 rounds" };
    for (const [id, words] of Object.entries(units))
        assert.equal(await value_text(id), words);
    const bare = await page.evaluate(`Array.from(document.querySelectorAll(
        "input, select, textarea"), (one) => {
            const hint = document.getElementById(
                one.getAttribute("aria-describedby"));
            return hint?.textContent.trim() ? "" : one.id;
        }).filter(Boolean).join()`);
    assert.equal(bare, "");
    const slider = (id) =>
        page.evaluate(`document.getElementById("${id}").value`);
    await enter_text(page, "numSamplesText", "100000");
    assert.equal(await slider("numSamples"), "50");
    assert.equal(await value_text("numSamples"), "100,000 samples");
    await page.evaluate("document.getElementById('numSamples').focus()");
    await page.press("ArrowLeft", 37);
    assert.equal(await slider("numSamplesText"), "79,430");
    assert.equal(await value_text("numSamples"), "79,430 samples");
    await page.evaluate("document.getElementById('worldSize').focus()");
    await page.press("Home", 36);
    assert.equal(await value_text("worldSize"), "1 rank");
    await page.click("#kill");
    await page.click("#resume");
    assert.equal(await value_text("worldSize"), "5 ranks");
    /* What is said to begin a new run does, and nothing else. */
    assert.equal(await page.evaluate(`Array.from(document.querySelectorAll(
        "#run input, #run select"), (one) => {
            document.getElementById("kill").click();
            one.dispatchEvent(new Event(
                one.type === "range" ? "input" : "change"));
            const begun = document.body.dataset.phase !== "killed";
            return begun === Boolean(one.closest("fieldset")) ? "" : one.id;
        }).filter(Boolean).join()`), "");
    assert.match(await page.evaluate(
        "document.querySelector('#run legend').textContent"),
                 /begins a new run/);
    return page;
});

/* The page's own copy of the algorithm is the module's with all 24 rounds, and
   another order with fewer. */
page_test("rounds", async () => {
    const page = await open(browser, url, CALM);
    const same_with = (rounds) => page.evaluate(`(() => {
        const slider = document.getElementById("rounds");
        slider.value = ${rounds};
        slider.dispatchEvent(new Event("input"));
        return document.getElementById("plotRounds").toDataURL() ===
               document.getElementById("plotFull").toDataURL();
    })()`);
    assert.equal(await same_with(23), false);
    assert.equal(await same_with(24), true);
    return page;
});

/* Without a mouse: Enter in a field takes what it says, and a button that is
   pressed hands on to the next. */
page_test("keys", async () => {
    const page = await open(browser, url);
    const focus = (id) =>
        page.evaluate(`document.getElementById("${id}").select?.();
                       document.getElementById("${id}").focus()`);
    const phase = () => page.evaluate("document.body.dataset.phase");
    const focused = () => page.evaluate("document.activeElement.id");
    await focus("kill");
    for (let i = 0; i < 3; i++) {
        await page.press("Enter", 13);
        assert.deepEqual([await phase(), await focused()],
                         ["killed", "resume"]);
        await page.press("Enter", 13);
        assert.deepEqual([await phase(), await focused()],
                         ["running", "kill"]);
    }
    await status_has(page, "status", "on 5 ranks");
    for (const [id, typed, shown] of [
        ["numSamplesText", " 3\u00a0000 ", "of 3,000 samples"],
        ["numSamplesText", "9", "of 3,000 samples"]]) {
        await focus(id);
        await page.type(typed);
        await page.press("Enter", 13);
        await status_has(page, "status", shown, 5);
    }
    assert.match(await text(page, "numSamplesTextHint"), /^Not accepted/);
    const { Sampler } = await import(module);
    const good = new Sampler({ numSamples: 3000, seed: 42, tail: "uneven" });
    good.seek(2000);
    await focus("paste");
    await page.type(Buffer.from(good.save()).toString("hex"));
    await page.press("Enter", 13);
    assert.match(await text(page, "loadStatus"), /^Loaded/);
    return page;
});

/* A file in a folder with an odd name, as people have them. */
page_test("odd_path", async () => {
    const folder = path.join(profile, "a b%20c %41 #d ?e é");
    fs.mkdirSync(folder);
    fs.copyFileSync("build/web/index.html", path.join(folder, "a #1.html"));
    const page = await open(browser, pathToFileURL(
        path.join(folder, "a #1.html")).href);
    await status_has(page, "status", "of 2,512 samples served");
    const before = await step_of(page);
    await page.evaluate("document.getElementById('train').click()");
    await page.until(`Number(document.getElementById("trainStatus")
        .dataset.step) !== ${before}`);
    await page.evaluate("document.getElementById('forget').click()");
    await training_is(page, "empty");
    return page;
});

/* What is wrong in a field stops no other control: the last good one holds. */
page_test("bad_field", async () => {
    const page = await open(browser, url);
    for (const [id, wrong] of [["seed", "many"], ["numSamplesText", "9"]]) {
        await enter_text(page, id, wrong);
        await page.evaluate("document.getElementById('worldSize').focus()");
        await page.press("ArrowLeft", 37);
        const ranks = id === "seed" ? 7 : 6;
        await status_has(page, "status", `on ${ranks} ranks`, 5);
        await status_has(page, "status", "of 2,512 samples", 5);
        assert.equal((await bytes(page)).slice(32, 48), "2a00000000000000");
        assert.match(await text(page, id + "Hint"), /^Not accepted/);
    }
    await enter_text(page, "seed", "43");
    assert.match(await bytes(page), /^.{32}2b00000000000000/);
    assert.match(await text(page, "numSamplesTextHint"), /^Not accepted/);
    return page;
});

/* Who has stopped the run, or wants no motion, starts it. */
page_test("stays_still", async () => {
    const { Sampler } = await import(module);
    const good = new Sampler({ numSamples: 2512, seed: 42, tail: "uneven" });
    good.seek(2000);
    const state = Buffer.from(good.save()).toString("hex");
    const phase = (page) => page.evaluate("document.body.dataset.phase");
    const paused = await open(browser, url);
    await paused.click("#pause");
    const calm = await open(browser, url, CALM);
    /* Something is seen all the same, also of what a control changes. */
    assert.match(await text(calm, "status"), /step 20 of 40 .* 1,280 of 2,512/);
    await calm.evaluate("document.getElementById('worldSize').focus()");
    await calm.press("ArrowLeft", 37);
    assert.match(await text(calm, "status"), /step 23 of 45 on 7 ranks/);
    for (const page of [paused, calm]) {
        for (const before of ["#pause", "#kill"]) { /* it is paused, killed */
            if (before === "#kill")
                await page.click("#kill");
            await enter_text(page, "paste", state);
            await page.click("#load");
            await status_has(page, "loadStatus", "Loaded");
            assert.equal(await phase(page), "paused");
            assert.equal((await bytes(page)).slice(144, 160),
                         state.slice(144, 160));
            await status_has(page, "status", "step 2,000 of", 5);
        }
        await enter_text(page, "seed", "43");
        assert.equal(await phase(page), "paused");
        await enter_text(page, "seed", "42");
        /* On a busy machine it may be over when it is asked. */
        await page.click("#pause");
        assert.match(await phase(page), /^(running|over)$/);
        await page.click("#kill");
        await enter_text(page, "paste", state);
        await page.click("#load");
        assert.match(await phase(page), /^(running|over)$/);
        assert.deepEqual(page.errors, []);
        await page.close();
    }
    /* Who switches motion off while it moves. */
    const page = await open(browser, url);
    await page.send("Emulation.setEmulatedMedia", { features: [
        { name: "prefers-reduced-motion", value: "reduce" }] });
    await page.until("document.body.dataset.phase === 'paused'", 5);
    return page;
});

/* A sentence on the page, and the run goes on. */
page_test("bad_input", async () => {
    const page = await open(browser, url);
    const { Sampler } = await import(module);
    const other = new Sampler({ numSamples: 999, tail: "uneven" }).save();
    const position = () => bytes(page).then((all) =>
        Number("0x" + all.slice(144, 160).match(/../g).reverse().join("")));
    for (const [pasted, sentence] of [
        ["53534d50", /^Not loaded: .*run is unchanged/],
        ["not hexadecimal", /not pairs of hexadecimal digits/],
        ["00".repeat(112), /^Not loaded: .*run is unchanged/],
        [Buffer.from(other).toString("hex"), /^Not loaded: .*samples/]]) {
        const before = await position();
        await enter_text(page, "paste", pasted);
        await page.click("#load");
        assert.match(await text(page, "loadStatus"), sentence);
        assert.ok(await position() >= before);
    }
    /* What cannot be a state is not looked at any further. */
    const took = await page.evaluate(`(() => {
        document.getElementById("paste").value = "0a".repeat(2.5e6);
        const start = performance.now();
        document.getElementById("load").click();
        return performance.now() - start;
    })()`);
    assert.match(await text(page, "loadStatus"),
                 /^Not loaded: this has 5,000,000 characters, a state has 224/);
    assert.ok(took < 500, `${took} ms`);
    const huge = "1" + "0".repeat(15);
    const no_n = ["10^15", "9", "0", "-10", "10.5", "1e3", "many", "", " "];
    for (const [id, sentence, wrong] of [
        ["numSamplesText", /^Not accepted.*at most 1,000,000\./, [huge]],
        ["numSamplesText", /^Not accepted.*10 to 1,000,000\./, no_n],
        ["seed", /^Not accepted.*0 to 2\^64 - 1\./,
         ["18446744073709551616", "-1", "1e3", "many", ""]],
        ["tableSizeText", /^Not accepted.*1,000 to 1,000,000,000,000\./,
         [huge, ...no_n]]])
        for (const words of wrong) {
            await page.choose("#" + id, words);
            assert.match(await text(page, id + "Hint"), sentence, words);
            assert.match(await text(page, "status"), /of 2,512 samples/);
            assert.equal(await text(page, "tableBytes"), "8.0 GB");
        }
    for (const [n, bytes] of [["12,450,000", "100 MB"],
                              ["124,999", "1.0 MB"]]) {
        await enter_text(page, "tableSizeText", n);
        assert.equal(await text(page, "tableBytes"), bytes);
    }
    await enter_text(page, "tableSizeText", "1,000,000,000,000");
    assert.match(await text(page, "tableSizeTextHint"), /^A whole number/);
    assert.equal(await text(page, "tableBytes"), "8.0 TB");
    assert.equal(await page.evaluate(
        "document.getElementById('tableSize').value"), "120");
    await enter_text(page, "text", "too short");
    await page.click("#train");
    assert.match(await text(page, "trainStatus"), /9 bytes: it must have/);
    /* And one that is right. */
    await enter_text(page, "seed", "42");
    await enter_text(page, "numSamplesText", "2512");
    const good = new Sampler({ numSamples: 2512, seed: 42, tail: "uneven" });
    good.seek(2000);
    await enter_text(page, "paste", Buffer.from(good.save()).toString("hex"));
    await page.click("#load");
    assert.match(await text(page, "loadStatus"), /^Loaded/);
    await status_has(page, "stamp",
                     "2,512 of 2,512 samples, each exactly once");
    return page;
});

/* A busy Chromium leaves drops out, or two come at once: then again. */
async function drop_says(page, selector, dropped, id, words) {
    for (let tries = 1;; tries++) {
        await page.evaluate(
            `document.getElementById("${id}").textContent = ""`);
        await page.drop(selector, ...[dropped].flat());
        try {
            return await status_has(page, id, words, 5);
        } catch (error) {
            if (tries === 5)
                throw error;
        }
    }
}

/* Files that are dropped: a state anywhere, a text where one learns it. What is
   wrong is told, and what was there stays. */
page_test("drops", () => served(async (at) => {
    const page = await open(browser, at);
    const { Sampler } = await import(module);
    const file = (name, content) => {
        fs.writeFileSync(path.join(profile, name), content);
        return path.join(profile, name);
    };
    const state = (numSamples) => {
        const sampler = new Sampler({ numSamples, seed: 42, tail: "uneven" });
        sampler.seek(numSamples - 200);
        return sampler.save();
    };
    const folder = path.join(profile, "folder"), huge = file("huge", "");
    fs.mkdirSync(folder);
    fs.truncateSync(huge, 1e8);
    const empty = file("empty", ""), good = file("good", state(2512));
    for (const [dropped, sentence] of [
        [file("other", state(999)), "Not loaded: "],
        [file("letter.txt", "A letter, no state."), "Not loaded: "],
        [empty, "Not loaded: "], [huge, "Not loaded: "],
        [folder, "folder cannot be read"],
        [[good, empty], "Not loaded: 2 files were dropped"],
        [good, "Loaded: "]]) {
        await drop_says(page, "#grid", dropped, "loadStatus", sentence);
        assert.match(await page.evaluate("document.body.dataset.phase"),
                     /^(running|over)$/);
    }
    await status_has(page, "stamp",
                     "2,512 of 2,512 samples, each exactly once");
    const field = () =>
        page.evaluate("document.getElementById('text').value");
    const before = await field();
    const short = file("short.txt", "too short");
    const book = file("book.txt", "A book. ".repeat(300));
    for (const [dropped, sentence] of [
        [short, "The file has 9 bytes"], [empty, "The file has 0 bytes"],
        [file("long.txt", "x".repeat(1000001)), "The file has 1,000,001 bytes"],
        [huge, "The file has 100,000,000 bytes"],
        [folder, "Nothing has changed"],
        [[book, short], "2 files were dropped"]]) {
        await drop_says(page, "#text", dropped, "trainStatus", sentence);
        assert.equal(await field(), before);
    }
    /* A picture, and others of no letters. Texts may be of other codes. */
    const archive = Buffer.concat([Buffer.from("PK\x03\x04"),
                                   Buffer.alloc(3000, 65)]);
    for (const [name, content] of [
        ["page.png", fs.readFileSync("examples/js/page/page.png")],
        ["zeros", Buffer.alloc(5000)], ["archive.zip", archive],
        ["module.wasm", fs.readFileSync("build/web/statesampler.wasm")]]) {
        await drop_says(page, "#text", file(name, content), "trainStatus",
                        `${name} is not a text`);
        assert.equal(await field(), before);
    }
    const letters = "Größe, \r\n\tçà. ".repeat(200);
    for (const [name, content] of [
        ["latin.txt", Buffer.from(letters, "latin1")],
        ["utf8.txt", "\ufeff" + letters],
        ["utf16.txt", Buffer.from("\ufeff" + letters, "utf16le")],
        ["swapped.txt", Buffer.from("\ufeff" + letters, "utf16le").swap16()]]) {
        await drop_says(page, "#text", file(name, content), "trainStatus",
                        `${name} is in the field`);
        assert.equal(await field(), letters.replaceAll("\r", ""));
    }
    /* Its size counts as the field has it, in UTF-8. */
    for (const [name, content, size] of [
        ["grows.txt", Buffer.alloc(600000, "\xe7", "latin1"), "1,200,000"],
        ["shrinks.txt", Buffer.from("\ufeff" + "ab\r\n".repeat(300),
                                    "utf16le"), "900"]]) {
        await drop_says(page, "#text", file(name, content), "trainStatus",
                        `The text has ${size} bytes: it must have`);
        assert.equal(await field(), letters.replaceAll("\r", ""));
    }
    /* However long its name is, nothing jumps. */
    const places = await page.evaluate(PLACES);
    const long = file("long-".repeat(49) + ".txt", "Long. ".repeat(400));
    await drop_says(page, "#loss", long, "trainStatus", ".txt is in the field");
    assert.equal(await page.evaluate(PLACES), places);
    await drop_says(page, "#loss", book, "trainStatus",
                    "book.txt is in the field");
    assert.equal(await field(), "A book. ".repeat(300));
    /* Text that is dragged, in place of a file. */
    await page.evaluate("document.getElementById('text').value = ''");
    for (let tries = 0; tries < 5 && await field() === ""; tries++)
        await page.drop_text("#text", "Dragged here.");
    assert.equal(await field(), "Dragged here.");
    await drop_says(page, "#loss", book, "trainStatus",
                    "book.txt is in the field");
    /* What is said of a file can be read while steps go by. */
    await page.click("#train");
    await at_step(page, 1);
    await drop_says(page, "#text", short, "trainStatus",
                    "The file has 9 bytes");
    const step = await step_of(page);
    await at_step(page, step + 3);
    assert.match(await text(page, "trainStatus"), /^The file has 9 bytes/);
    return page;
}));

const WORDS = "It was the sample of all samples. ".repeat(90);
const training_is = (page, phase) =>
    page.until(`document.body.dataset.training === "${phase}"`);
const at_step = (page, step) => page.until(
    `Number(document.getElementById("trainStatus").dataset.step) >= ${step}`);
const step_of = (page) => page.evaluate(
    "Number(document.getElementById('trainStatus').dataset.step)");
const twice = (page) => page.evaluate(`(() => {
    const button = document.getElementById("train");
    button.click();
    button.click();
})()`);
const digest_of = (page) => page.evaluate(
    "document.getElementById('trainStatus').dataset.digest");

/* Calls back with the address of a server, which has the page or other files:
   by path what is there. */
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript",
                ".wasm": "application/wasm" };
async function served(call, files = {
    "/": fs.readFileSync("build/web/index.html") }) {
    const server = http.createServer(({ url: at }, answer) => {
        answer.statusCode = at in files ? 200 : 404;
        answer.setHeader("Content-Type",
                         TYPES[path.extname(at)] ?? "text/html");
        answer.end(files[at]);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
        return await call(`http://127.0.0.1:${server.address().port}/`);
    } finally {
        server.closeAllConnections();
        server.close();
    }
}

/* A sentence, and training goes on without a checkpoint. As nothing interrupts
   it, it ends in the digest that an interrupted run must end in. */
let unbroken;
async function know_unbroken() {
    if (!unbroken)
        await (await storage_full()).close();
}
const storage_full = () => served(async (at) => {
    const page = await open(browser, at, CALM), origin = at.slice(0, -1);
    await page.send("Storage.overrideQuotaForOrigin",
                    { origin, quotaSize: 1000 });
    await enter_text(page, "text", WORDS);
    const places = await page.evaluate(PLACES);
    await page.click("#train");
    await status_has(page, "trainProblem", "does not let the page store");
    await at_step(page, 20);
    assert.match(await text(page, "trainProblem"), /does not survive/);
    await training_is(page, "done");
    assert.equal(await page.evaluate(PLACES), places);
    assert.match(await text(page, "trainStatus"), /never interrupted/);
    unbroken = await digest_of(page);
    assert.match(unbroken, /^[0-9a-f]{8}$/);
    /* A browser in which there is no such thing as a store. */
    const bare = await open(browser, at, NO_STORE);
    await status_has(bare, "trainProblem", "does not let the page store");
    await enter_text(bare, "text", WORDS);
    await bare.click("#train");
    await at_step(bare, 3);
    assert.deepEqual(bare.errors, []);
    await bare.close();
    /* With room it keeps the run, until somebody deletes what was kept. */
    await page.send("Storage.overrideQuotaForOrigin", { origin });
    await page.click("#train");
    await training_is(page, "running");
    await at_step(page, 3);
    assert.match(await text(page, "trainStatus"), /^Step /);
    assert.equal(await text(page, "trainProblem"), "");
    await page.send("Storage.clearDataForOrigin",
                    { origin, storageTypes: "indexeddb" });
    await status_has(page, "trainProblem",
                     "was deleted). Training works, but does not survive a");
    await at_step(page, await step_of(page) + 3);
    return page;
});
page_test("storage_full", storage_full);

/* What a put of the worker does before it puts a value at a key; and a script
   before the page, and what the worker does first. */
const put_does = (stub, before = "", first = "") => ({ ...CALM, before: `
    ${before}
    const stub = ${JSON.stringify(`
        const put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = function (value, key) {
            ${stub}
            return put.call(this, value, key);
        };
        ${first}`)};
    window.Worker = class extends Worker {
        constructor(url) {
            super(URL.createObjectURL(new Blob(
                [stub, "importScripts(" + JSON.stringify(url) + ")"])));
        }
    };` });

const NO_STORE =
    put_does("", "", "delete self.indexedDB; delete self.IDBKeyRange;");

/* The room is used up in mid-training, and the page is loaded again without
   any: no step that was kept is lost. Chromium's quota does not do that to
   what grows so little, so put throws here as its would. */
const no_room_after = (steps) => put_does(`
    if (typeof key === "number" && key >= ${steps})
        throw new DOMException("full", "QuotaExceededError");`);
page_test("storage_fills", () => served(async (at) => {
    await know_unbroken();
    let page = await open(browser, at, no_room_after(10));
    await enter_text(page, "text", WORDS);
    await page.click("#train");
    await status_has(page, "trainProblem", "(full). Training works, but a " +
                                           "reload goes back to step 10.");
    await at_step(page, 15);
    assert.deepEqual(page.errors, []);
    await page.close();
    page = await open(browser, at, no_room_after(0));
    await status_has(page, "trainProblem", "goes back to step 10.");
    await status_has(page, "trainStatus", "Step ");
    await training_is(page, "done");
    assert.match(await text(page, "trainStatus"), /interrupted once/);
    assert.equal(await digest_of(page), unbroken);
    return page;
}));

/* A store that never answers: the page says so, and training works. */
page_test("storage_silent", () => served(async (at) => {
    const page = await open(browser, at, put_does(
        "", "", "IDBFactory.prototype.open = () => ({});"));
    await status_has(page, "trainProblem",
                     "store the run (it does not answer)");
    await enter_text(page, "text", WORDS);
    await page.click("#train");
    await at_step(page, 3);
    assert.match(await text(page, "trainProblem"), /does not survive/);
    return page;
}));

/* A text as long as it takes one, in the midst of its training: what a step
   stores and draws does not grow with the steps before it. */
page_test("long_text", (t) => served(async (at) => {
    const LENGTH = 1e6, past = 3000;
    const { Sampler } = await import(module);
    const sampler = new Sampler({ numSamples: LENGTH - 8, seed: 1,
                                  batchSize: 48, tail: "uneven" });
    sampler.seek(past);
    const page = await open(browser, at, put_does(`
        const size = (one) => typeof one !== "object" || one === null ? 8
            : one.byteLength ??
              Object.values(one).reduce((sum, part) => sum + size(part), 0);
        (this.sizes ??= new BroadcastChannel("sizes"))
            .postMessage([key, size(value)]);`, `
        window.stored = window.largest = window.strokes = 0;
        new BroadcastChannel("sizes").onmessage = ({ data: [key, size] }) => {
            stored += key === "checkpoint";
            largest = Math.max(largest, size);
        };
        for (const name of ["fillRect", "lineTo"]) {
            const { prototype } = CanvasRenderingContext2D;
            const former = prototype[name];
            prototype[name] = function (...numbers) {
                strokes += this.canvas.id === "loss";
                return former.apply(this, numbers);
            };
        }`));
    await page.evaluate(`new Promise((resolve) => {
        indexedDB.open("statesampler-page").onsuccess = ({ target }) => {
            const ended = target.result.transaction("run", "readwrite");
            const kept = ended.objectStore("run");
            const text = new Uint8Array(${LENGTH}).fill(97);
            const weights = new Float32Array(
                256 * 16 + 128 * 128 + 128 + 128 * 256 + 256).fill(0.01);
            kept.put(text, "text");
            kept.put({ weights, interruptions: 0, state: Uint8Array.from(
                [${sampler.save()}]) }, "checkpoint");
            for (let step = 0; step < ${past}; step++)
                kept.put(4, step);
            ended.oncomplete = resolve;
        };
    })`);
    await page.load();
    await at_step(page, past + 1);
    await page.evaluate("stored = largest = strokes = 0");
    const start = await step_of(page);
    const frames = await page.frames(0.5);
    await at_step(page, start + 20);
    const [stored, largest, strokes] =
        await page.evaluate("[stored, largest, strokes]");
    assert.ok(stored >= 20, `${stored} checkpoints`);
    assert.ok(largest < 215000, `${largest} bytes are stored at a time`);
    assert.ok(strokes < 4 * stored, `${strokes} strokes, ${stored} steps`);
    t.diagnostic(`${Math.round(frames)} frames a second, ` +
                 `${largest} bytes a step`);
    return page;
}));

/* One tab trains: the one that was opened last, or whose button was pressed;
   the others stop and say so. Presses in a hurry count once. Tabs are closed,
   a page is loaded again, and the browser is killed: the run ends as one that
   was left alone. */
page_test("tabs_and_reloads", async (t) => {
    await know_unbroken();
    let first = await open(browser, url, CALM);
    let second = await open(browser, url, CALM);
    await enter_text(first, "text", WORDS);
    await twice(first);
    await at_step(first, 8);
    /* No new run takes the place of one that another tab has begun. */
    await second.click("#train");
    await training_is(second, "elsewhere");
    assert.match(await text(second, "trainStatus"), /^Another tab/);
    await at_step(first, 12);
    await twice(second);
    await training_is(first, "elsewhere");
    assert.match(await text(first, "trainStatus"), /^Another tab/);
    await at_step(second, 20);
    await twice(second);
    await training_is(second, "paused");
    const step = await step_of(second);
    await wait(300);
    assert.equal(await step_of(second), step);
    await twice(second);
    await at_step(second, step + 2);
    assert.deepEqual(second.errors, []);
    await second.close();
    await twice(first);
    await at_step(first, 30);
    /* Who presses while the kept run is read does not stop it. */
    await first.send("Page.addScriptToEvaluateOnNewDocument", { source: `
        const presses = setInterval(() => {
            if (document.body?.dataset.ready)
                clearInterval(presses);
            else
                document.getElementById("train")?.click();
        }, 1)` });
    await first.load();
    await at_step(first, 36);
    second = await open(browser, url, CALM);
    await training_is(first, "elsewhere");
    await at_step(second, 40);
    for (const { errors } of [first, second])
        assert.deepEqual(errors, []);
    await browser.kill();
    browser = await launch(profile);
    [first, second] = await Promise.all(
        [open(browser, url, CALM), open(browser, url, CALM)]);
    const either = "/done|elsewhere/.test(document.body.dataset.training)";
    await first.until(either);
    await second.until(either);
    const [left, right] = await Promise.all([first, second].map(
        (one) => text(one, "trainStatus")));
    const said = left.startsWith("Done") ? left : right;
    /* Once more if both were there before the end. */
    assert.match(said, RegExp(`^Done.* interrupted [56] times.*${unbroken}`));
    t.diagnostic(said.match(/[\d,]+ steps/)[0] + ", digest " + unbroken);
    assert.deepEqual(second.errors, []);
    await second.close();
    /* What is kept is no run: that is said, and Train begins one. */
    await first.evaluate(`new Promise((resolve) => {
        indexedDB.open("statesampler-page").onsuccess = ({ target }) => {
            const kept = target.result.transaction("run", "readwrite")
                .objectStore("run");
            kept.delete(0).onsuccess = resolve;
        };
    })`);
    await first.load();
    await status_has(first, "trainProblem", "is not a run of this page");
    await twice(first);
    await at_step(first, 2);
    return first;
});

/* What a tab says of another one that took its run stays true: when that is
   closed, when it comes back, and when it deletes the run. */
page_test("tab_gone", () => served(async (at) => {
    const first = await open(browser, at, CALM);
    await enter_text(first, "text", WORDS.repeat(99)); /* it does not end */
    await first.click("#train");
    await at_step(first, 2);
    const taken = "Another tab of this page has taken the run over.";
    let second;
    for (let times = 0; times < 2; times++) {
        second = await open(browser, at, CALM);
        await status_has(first, "trainStatus", taken, 10);
        await second.load();
        await at_step(second, 3);
        await status_has(first, "trainStatus", taken, 10);
        const third = await open(browser, at, CALM);
        await status_has(second, "trainStatus", taken, 10);
        await third.close();
        for (const page of [first, second])
            await status_has(page, "trainStatus",
                             "The tab that took the run over is closed", 10);
        await first.click("#train");
        await training_is(first, "running");
        await status_has(second, "trainStatus", taken, 10);
        await second.close();
    }
    second = await open(browser, at, CALM);
    await training_is(first, "elsewhere");
    await second.click("#forget");
    await status_has(first, "trainStatus", "No run is stored", 10);
    assert.deepEqual(second.errors, []);
    /* The other way round: who lost it deletes it. */
    await first.click("#train");
    await at_step(first, 2);
    await second.click("#train");
    await training_is(second, "elsewhere");
    await second.click("#forget");
    await status_has(first, "trainStatus", "No run is stored", 10);
    /* Of two who lost it to a tab that is gone, one deletes it. */
    await first.click("#train");
    await at_step(first, 2);
    await second.click("#train");
    await training_is(second, "elsewhere");
    const third = await open(browser, at, CALM);
    await at_step(third, 3);
    await third.close();
    for (const page of [first, second])
        await status_has(page, "trainStatus",
                         "The tab that took the run over is closed", 10);
    await second.click("#forget");
    for (const page of [first, second])
        await status_has(page, "trainStatus", "No run is stored", 10);
    await second.close();
    return first;
}));

/* On any number of ranks that is offered, with another one at every step (also
   at the end of an epoch), where it is paused, after a reload and in another
   tab, the weights are those of one rank that was left alone. */
const WORLD_SIZES = ["1", "2", "3", "4", "6", "8"];
page_test("ranks", () => served(async (at) => {
    const short = WORDS.slice(0, 2006); /* 84 steps */
    const on = (worldSize) => worldSize === "1" ? "on 1 rank"
        : `on ${worldSize} ranks`;
    let alone;
    const ends = async (page, worldSize) => {
        await status_has(page, "trainStatus", `Done ${on(worldSize)}: `);
        alone ??= await digest_of(page);
        assert.equal(await digest_of(page), alone, on(worldSize));
    };
    /* What a store does with them is asked below. */
    const bare = await open(browser, at, NO_STORE);
    assert.deepEqual(await bare.evaluate(`Array.from(document.getElementById(
        "trainWorldSize").options, (one) => one.value)`), WORLD_SIZES);
    await enter_text(bare, "text", short);
    for (const worldSize of WORLD_SIZES) {
        await bare.choose("#trainWorldSize", worldSize);
        await bare.click("#train");
        await ends(bare, worldSize);
        assert.match(await text(bare, "trainStatus"), /never interrupted/);
    }
    assert.deepEqual(bare.errors, []);
    await bare.close();
    /* After each step the worker hears of another number, and at one of a
       press. Later puts are none of a loss, so that this ends. */
    const hears = (message) => `dispatchEvent(new MessageEvent(
        "message", { data: ${message} }));`;
    const changing = await open(browser, at, put_does(`
        if (typeof key === "number") {
            const worldSize = [${WORLD_SIZES}][key % 6];
            ${hears("{ reshapes: true, worldSize }")}
        }
        if (key === 59)
            ${hears('{ shown: "running" }')}`));
    await enter_text(changing, "text", short);
    await changing.click("#train");
    await training_is(changing, "paused");
    await status_has(changing, "trainStatus",
                     "Step 60 of 84 on 8 ranks, epoch 1");
    /* By the keyboard, where it is paused. */
    await changing.choose("#trainWorldSize", "4");
    await status_has(changing, "trainStatus", "Step 60 of 84 on 4 ranks");
    await changing.evaluate(
        "document.getElementById('trainWorldSize').focus()");
    await changing.press("ArrowDown", 40);
    await status_has(changing, "trainStatus", "Step 60 of 84 on 6 ranks");
    /* What is kept goes on as it was chosen last. */
    const page = await open(browser, at, CALM);
    assert.equal(await page.evaluate(
        "document.getElementById('trainWorldSize').value"), "6");
    await ends(page, "6");
    assert.match(await text(page, "trainStatus"), /interrupted once/);
    /* A paused run that another tab has taken is no longer here to change. */
    await changing.choose("#trainWorldSize", "2");
    await status_has(changing, "trainStatus", "Another tab");
    await changing.choose("#trainWorldSize", "3");
    await changing.click("#train");
    await ends(changing, "3");
    assert.deepEqual(changing.errors, []);
    await changing.close();
    return page;
}));

/* The module as people have it on a server, in a page and in a page's worker,
   with vectors and without. Where the server lacks a file, it is named. */
page_test("module_on_a_server", async () => {
    const built = (name) => fs.readFileSync("build/web/" + name);
    const use = `
        const { Sampler, simd } = await import("/lib/statesampler.mjs");
        const sampler = new Sampler({ numSamples: 1e6, batchSize: 300 });
        sampler.seek(3000);
        const found = [simd, ...sampler.next(), ...sampler.save()].join();`;
    const files = {
        "/": `<!doctype html><link rel="icon" href="data:,"><body>
            <script type="module">${use}
            const worker = new Worker("/worker.mjs", { type: "module" });
            worker.onmessage = async ({ data }) => {
                const lacks = await import("/lacks/statesampler.mjs")
                    .catch(({ message }) => message);
                document.body.textContent =
                    JSON.stringify([found, data, lacks]);
                document.body.dataset.ready = "yes";
            }</script>`,
        "/worker.mjs": `${use} postMessage(found);`,
        "/lacks/statesampler.mjs": built("statesampler.mjs"),
    };
    for (const name of ["statesampler.mjs", "statesampler.wasm",
                        "statesampler-simd.wasm"])
        files["/lib/" + name] = built(name);
    const { Sampler } = await import(module);
    const sampler = new Sampler({ numSamples: 1e6, batchSize: 300 });
    sampler.seek(3000);
    const want = [...sampler.next(), ...sampler.save()].join();
    await served(async (at) => {
        for (const [before, simd, name] of [
            ["", true, "statesampler-simd"],
            ["WebAssembly.validate = () => false", false, "statesampler"]]) {
            const page = await open(browser, at, { before });
            const [found, by_worker, lacks] =
                JSON.parse(await page.evaluate("document.body.textContent"));
            assert.equal(found, `${simd},${want}`);
            assert.equal(by_worker, `true,${want}`);
            assert.equal(lacks, `${at}lacks/${name}.wasm: 404 Not Found`);
            assert.match(page.errors.join(), /^[^,]*status of 404[^,]*$/);
            await page.close();
        }
    }, files);
});

/* The npm package's module and its script, in a page with a strict policy, in
   workers and in service workers, which know no top-level await. */
page_test("package_on_a_server", async () => {
    const use = (text) => `${text}
        const sampler = new Sampler({ numSamples: 1003, batchSize: 9 });
        sampler.skip();
        const found = [...sampler.next(), ...sampler.save()].join();`;
    const imports = 'import { Sampler } from "/statesampler.mjs";';
    const script = "const { Sampler } = statesampler;";
    const loads = `importScripts("/statesampler.js"); ${script}`;
    const tells = `globalThis.postMessage?.(found);
        onmessage = ({ ports: [port] }) => port.postMessage(found);`;
    const files = {
        "/": `<!doctype html><link rel="icon" href="data:,">
            <meta http-equiv="Content-Security-Policy"
            content="script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'">
            <body><script src="/statesampler.js"></script>
            <script type="module">
            const all = [(() => { ${use(script)} return found; })()];
            ${use(imports)} all.push(found);
            for (const [file, type] of [["classic.js", "classic"],
                                        ["module.mjs", "module"]]) {
                const worker = new Worker(file, { type });
                all.push(await new Promise((resolve) =>
                    worker.onmessage = ({ data }) => resolve(data)));
                const { installing } = await navigator.serviceWorker.register(
                    "/" + file, { type, scope: "/" + type });
                const { port1, port2 } = new MessageChannel();
                installing.postMessage(null, [port2]);
                all.push(await new Promise((resolve) =>
                    port1.onmessage = ({ data }) => resolve(data)));
            }
            document.body.textContent = JSON.stringify(all);
            document.body.dataset.ready = "yes";
            </script>`,
        "/classic.js": use(loads) + tells,
        "/module.mjs": use(imports) + tells,
    };
    for (const name of ["statesampler.mjs", "statesampler.js"])
        files["/" + name] = fs.readFileSync("build/web/package/" + name);
    const { Sampler } = await import(module);
    const want = new Function("Sampler", use("") + "return found;")(Sampler);
    return served(async (at) => {
        const page = await open(browser, at);
        assert.deepEqual(JSON.parse(await page.evaluate(
            "document.body.textContent")), Array(6).fill(want));
        return page;
    }, files);
});

/* A browser that cannot run the page: it says so, and has no dead controls. */
page_test("cannot", async () => {
    const says = (sentence) =>
        `${sentence}.test(document.getElementById("cannot").textContent)`;
    for (const [before, sentence] of [
        ["delete globalThis.WebAssembly", /needs WebAssembly/],
        ["WebAssembly.instantiate = () => " +
         "Promise.reject(new Error('not allowed'))", /\(.*not allowed\)/]]) {
        const page = await open(browser, url, { before, ready: "no" });
        await page.until(says(sentence), 10);
        assert.deepEqual((await page.evaluate(LOOK)).wrong, []);
        assert.equal(await page.evaluate(`Array.from(document
            .querySelectorAll("button, input, select, textarea")).filter(
            (one) => one.checkVisibility()).length`), 0);
        await page.close();
    }
    /* What works stays, where something else does not. */
    const partly = await open(browser, url, { ...CALM, ready: "partly",
        before: "window.Worker = class { constructor() { " +
                "throw new Error('no workers'); } }" });
    assert.match(await text(partly, "cannot"), /^Not all .*no workers/);
    await partly.click("#kill");
    await status_has(partly, "status", "Killed at step 20", 5);
    await partly.close();
    /* A server's policy, not the browser, forbids it. */
    const policy = (rules) => served((at) => open(browser, at, {
        ...CALM, ready: rules.includes("blob:") ? "partly" : "no" }), {
        "/": fs.readFileSync("build/web/index.html", "utf8").replace("<head>",
            `<head><meta http-equiv="Content-Security-Policy" content="${
                rules}">`) });
    const NEEDS = /must allow script-src 'unsafe-inline' 'wasm-unsafe-eval' b/;
    const inline = "script-src 'unsafe-inline'";
    for (const [rules, sentence] of [
        ["script-src 'self'", /scripts .* do not run:.*content security pol/s],
        [inline + " 'wasm-unsafe-eval'", NEEDS],
        [inline + " 'wasm-unsafe-eval' blob:; worker-src 'none'", NEEDS],
        [inline + " blob: 'wasm-unsafe-eval'; worker-src 'self'", NEEDS]]) {
        const page = await policy(rules);
        await page.until(says(sentence), 10);
        assert.equal(/^Training/.test(await text(page, "cannot")),
                     rules.includes("worker-src"));
        await page.close();
    }
    /* Nothing is said of what the page does not need. */
    const page = await open(browser, url, { ...CALM, before: `
        addEventListener("DOMContentLoaded", () => dispatchEvent(
            new SecurityPolicyViolationEvent("securitypolicyviolation", {
                effectiveDirective: "img-src", disposition: "enforce" })));` });
    assert.equal(await text(page, "cannot"), "");
    return page;
});

/* Text of 12 px at least and a contrast of 4.5 at least, nothing wider than a
   phone, no button that moves. */
const LOOK = `(() => {
    const wrong = [];
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = numbers(colour).map((x) => (x /= 255) <= 0.04045
            ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (numbers(colour)[3] !== 0)
                return colour;
        }
    };
    const walker = document.createTreeWalker(document.body,
                                             NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility())
            continue;
        seen++;
        const style = getComputedStyle(element);
        const [a, b] = [light(style.color), light(behind(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (parseFloat(style.fontSize) < 12 || contrast < 4.5)
            wrong.push([walker.currentNode.data.trim().slice(0, 40),
                        style.fontSize, contrast.toFixed(2)]);
    }
    for (const control of document.querySelectorAll("[placeholder]")) {
        const shown = getComputedStyle(control, "::placeholder").color;
        const [a, b] = [light(shown), light(behind(control))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5)
            wrong.push([control.placeholder, contrast.toFixed(2)]);
    }
    for (const one of document.querySelectorAll("input[type=range]"))
        if (one.checkVisibility() && one.clientWidth < 80)
            wrong.push(["too short to move", one.id, one.clientWidth]);
    for (const one of document.querySelectorAll("th, caption, legend, label, " +
            "h1, h2, h3, figcaption, button, option, a"))
        if (!one.textContent.trim())
            wrong.push(["no text", one.outerHTML.slice(0, 60)]);
    /* What does not fit is reached by the keyboard, or is not cut off. */
    for (const one of document.querySelectorAll("body *")) {
        const { overflowX, overflowY } = getComputedStyle(one);
        const scrolls = /auto|scroll/.test(overflowX + overflowY);
        const wide = one.scrollWidth > one.clientWidth + 1 &&
                     overflowX !== "visible";
        const tall = one.scrollHeight > one.clientHeight + 1 &&
                     overflowY !== "visible";
        if ((wide || tall) && (scrolls ? one.tabIndex < 0 : one.textContent) &&
            one.checkVisibility() && !/^(INPUT|SELECT)$/.test(one.tagName))
            wrong.push([scrolls ? "no key scrolls it" : "cut off",
                        one.outerHTML.slice(0, 60)]);
    }
    for (const control of document.querySelectorAll("input, select, textarea"))
        if (!control.labels?.length && !control.ariaLabel)
            wrong.push(["no label", control.id]);
    return { wrong, seen };
})()`;
/* A phone shows a page that is too wide by being wider itself. */
const WIDTH = "document.documentElement.scrollWidth";
const PLACES = `(() => {
    const scrolled = scrollY; /* what is pinned is compared at the top */
    scrollTo(0, 0);
    const places = Array.from(
        document.querySelectorAll("button, h2, .field, textarea, footer"),
        (one) => Math.round(one.getBoundingClientRect().top));
    scrollTo(0, scrolled);
    return places.join();
})()`;

/* Every control that may be used is reached by the tabulator. */
async function keyboard(page) {
    const reached = [];
    const all = await page.evaluate(`Array.from(
        document.querySelectorAll("a, button, input, select, textarea"),
        (one) => one.disabled ? "" : one.id).filter(Boolean)`);
    for (let i = 0; i < all.length; i++) {
        await page.press("Tab", 9);
        reached.push(await page.evaluate("document.activeElement.id"));
    }
    assert.deepEqual(reached, all);
}

page_test("look", async (t) => {
    let page, looked = 0;
    for (const options of [
        { calm: true }, { dark: true },
        { width: 360, height: 640, phone: true, dark: true },
        { width: 320, height: 600, phone: true, calm: true },
        { width: 320, height: 600 }, /* with a scroll bar */
        { width: 844, height: 390, phone: true, calm: true, beside: 0.4 },
        { width: 640, height: 400, scale: 2 }]) {
        page = await open(browser, url, options);
        if (options.calm && !options.phone) {
            assert.equal(await page.evaluate("document.body.dataset.phase"),
                         "paused");
            await keyboard(page);
        }
        const places = await page.evaluate(PLACES);
        const check = async () => {
            const { wrong, seen } = await page.evaluate(LOOK);
            assert.deepEqual(wrong, []);
            assert.ok(await page.evaluate(WIDTH) <= (options.width ?? 1280));
            assert.equal(await page.evaluate(PLACES), places);
            looked += seen;
        };
        await check();
        const kill = await page.evaluate(
            "document.getElementById('kill').getBoundingClientRect().bottom");
        assert.ok(kill <= (options.height ?? 800), "Kill is in reach");
        /* The last control of the run, and the picture that it changes. */
        await page.evaluate("scrollTo(0, 0);" +
                            "document.getElementById('seed').focus()");
        const shown = await page.evaluate(`(() => {
            const { top, bottom } = document.getElementById("grid")
                .getBoundingClientRect();
            return (Math.min(bottom, innerHeight) - Math.max(top, 0)) /
                   (bottom - top);
        })()`);
        assert.ok(shown > (options.beside ?? 0.9),
                  `${shown} of the picture is beside the seed`);
        for (const id of options.phone ? ["kill", "seed"] : ["seed"])
            assert.equal(await page.evaluate(`(() => {
                const { x, y, width, height } =
                    document.getElementById("${id}").getBoundingClientRect();
                return document.elementFromPoint(
                    x + width / 2, y + height / 2)?.id;
            })()`), id, "in sight beside the seed");
        /* No bar is half pale: pale is what has restarted. */
        assert.equal(await page.evaluate(`(() => {
            const canvas = document.getElementById("mix");
            const { data } = canvas.getContext("2d").getImageData(
                26 * devicePixelRatio, canvas.height * 0.8,
                canvas.width - 30 * devicePixelRatio, 1);
            return new Set(Array.from(new Uint32Array(data.buffer))
                .filter((one) => one >>> 24 === 255)).size;
        })()`), 1);
        await page.click("#kill");
        await check();
        await page.click("#load");
        await check();
        await page.click("#resume");
        await check();
        /* The longest that is said of a field, and of a mix. */
        for (const id of ["numSamplesText", "seed", "tableSizeText"])
            await enter_text(page, id, "1" + "0".repeat(25));
        await page.choose("#stop", "never");
        await check();
        /* And of a million samples, when an epoch has ended. */
        await page.evaluate(`{
            document.getElementById("pause").click();
            const words = { status: "Epoch 99: 1,000,000 of 1,000,000 " +
                    "samples, none twice; 64 dropped by the tail rule, " +
                    "through 12 kills. Ordinary sampler: 500,000 repeated, " +
                    "500,000 missed.",
                stamp: "Epoch 99: 1,000,000 of 1,000,000 " +
                    "samples, each exactly once, through 12 kills.",
                otherStamp: "Epoch 99: 500,000 repeated, 500,000 missed, " +
                    "through 12 kills.",
                otherCount: "Repeated: 500,000. Batches drawn again and " +
                    "thrown away, per rank: 100,000." };
            for (const [id, text] of Object.entries(words))
                document.getElementById(id).textContent = text;
            document.getElementById("otherStamp").classList.add("bad");
        }`);
        await check();
        assert.deepEqual(page.errors, []);
        await page.close();
    }
    t.diagnostic(`${looked} texts`);
});

/* On a screen of another density, or where the page is zoomed, pictures are
   drawn anew, and in mid-training the whole curve. (By its protocol Chromium
   tells a page of another density only with another size.) */
page_test("densities", async () => {
    const page = await open(browser, url, CALM);
    await enter_text(page, "text", WORDS);
    await page.click("#train");
    await at_step(page, 5);
    await page.click("#train");
    await training_is(page, "paused");
    /* The pixels of the curve. */
    const drawing = () => page.evaluate(`new Promise((resolve) =>
        requestAnimationFrame(() => {
            const { width, height } = document.getElementById("loss");
            const { data } = document.getElementById("loss").getContext("2d")
                .getImageData(0, 0, width, height);
            let red = 0;
            for (let i = 0; i < data.length; i += 4)
                red += data[i] > 2 * data[i + 1] && data[i + 3] > 200;
            resolve(red);
        }))`);
    const before = await drawing();
    assert.ok(before > 10);
    for (const [scale, width] of [[1.5, 1270], [3, 1260], [1, 1280]]) {
        await page.send("Emulation.setDeviceMetricsOverride", {
            width, height: 800, deviceScaleFactor: scale, mobile: false });
        await page.until(`Array.from(document.querySelectorAll("canvas"),
            (one) => [one.width, one.getBoundingClientRect().width * ${scale}])
            .every(([has, wants]) => Math.abs(has - wants) <= 1)`, 5);
        assert.ok(await drawing() > 0.9 * before);
    }
    await page.click("#forget");
    await training_is(page, "empty");
    return page;
});

/* How many times the processor's time a frame takes because of what is out of
   sight, below the run: with it and without it in turns. */
async function cost_below(page) {
    const spent = [0, 0];
    for (let turn = 0; turn < 6; turn++) {
        await page.evaluate(`document.querySelectorAll("section:not(#run)")
            .forEach((one) => one.style.display =
                     "${turn % 2 === 0 ? "" : "none"}")`);
        await page.frames(0.2);
        let rate;
        const ms = await page.busy(async () => {
            rate = await page.frames(0.7);
        });
        spent[turn % 2] += ms / rate;
    }
    await page.evaluate(`document.querySelectorAll("section")
        .forEach((one) => one.style.display = "")`);
    return spent[0] / spent[1];
}

/* A million samples: how many frames a second are drawn is printed. Before
   them, of 50,000 on a screen of two pixels a point every sample has a cell of
   whole pixels, which no browser stretches; a million are drawn with a pixel a
   point. What is out of sight must cost little. */
page_test("million", async (t) => {
    const page = await open(browser, url, { scale: 2 });
    await enter_text(page, "numSamplesText", "50000");
    const pixels = () => page.evaluate(`(() => {
        const canvas = document.getElementById("grid");
        const { width, height } = canvas.getBoundingClientRect();
        return [canvas.width, canvas.height, Math.round(width),
                Math.round(height)];
    })()`);
    const [width, height, ...box] = await pixels();
    assert.ok(Math.abs(width - 2 * box[0]) <= 1 && width * height >= 200000 &&
              Math.abs(height - 2 * box[1]) <= 1);
    await enter_text(page, "numSamplesText", "1000000");
    assert.deepEqual((await pixels()).slice(0, 2), box, "not more pixels");
    const below = await cost_below(page);
    assert.ok(below < 1.6, `with what is below the run: ${below} times`);
    await page.send("Emulation.setDeviceMetricsOverride", {
        width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
    const frames = await page.frames(1);
    await status_has(page, "status", "of 1,000,000 samples served");
    /* The processor's time for a kill until it is drawn. */
    const kills = [];
    for (let i = 0; i < 5; i++) {
        kills.push(await page.busy(() => page.evaluate(`new Promise((drawn) => {
            document.getElementById("kill").click();
            requestAnimationFrame(() => setTimeout(drawn));
        })`)));
        await page.click("#resume");
        await page.frames(0.2);
    }
    /* Nothing is served after it, not even in the frame that was due. */
    assert.ok(await page.evaluate(`new Promise((resolve) => {
        const grid = document.getElementById("grid");
        document.getElementById("kill").click();
        const killed = grid.toDataURL();
        requestAnimationFrame(() => setTimeout(() =>
            resolve(grid.toDataURL() === killed)));
    })`), "it is still after a kill");
    const kill = kills.sort((a, b) => a - b)[2];
    assert.ok(kill < 100 / 6, `a kill takes ${kill} ms`);
    t.diagnostic(`${Math.round(frames)} frames a second, a kill ` +
                 `${kill.toFixed(1)} ms of processor time`);
    return page;
});

/* Where the browser lets a page store nothing, training goes on and says so. It
   is the last, as it leaves a browser that stores nothing. */
page_test("storage_forbidden", async () => {
    await browser.close();
    const preferences = path.join(profile, "Default", "Preferences");
    const all = JSON.parse(fs.readFileSync(preferences));
    all.profile.default_content_setting_values = { cookies: 2 };
    fs.writeFileSync(preferences, JSON.stringify(all));
    browser = await launch(profile);
    let page;
    for (const width of [320, 1280]) {
        await page?.close();
        page = await open(browser, url, { ...CALM, width, phone: width < 400 });
        await status_has(page, "trainProblem", "does not let the page store");
        const places = await page.evaluate(PLACES);
        await page.click("#train");
        await at_step(page, 3);
        assert.match(await text(page, "trainProblem"), /does not survive/);
        assert.equal(await page.evaluate(PLACES), places);
        assert.deepEqual((await page.evaluate(LOOK)).wrong, []);
    }
    return page;
});
