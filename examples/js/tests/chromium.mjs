/* chromium.mjs - a headless Chromium, driven over a pipe by its DevTools
   protocol: messages of JSON, each ended by a zero byte. */
import { spawn } from "node:child_process";
import fs from "node:fs";

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/* That Chromium does not start here, and why, in its own words: most containers
   allow no user namespaces, which its sandbox needs. */
export class NoChromium extends Error {}

/* Starts one with a profile of its own, which is kept until close. */
export async function launch(folder) {
    const options = ["--headless=new", "--remote-debugging-pipe",
                     "--disable-gpu", "--no-first-run", "--disable-sync",
                     "--disable-background-networking",
                     "--disable-component-update", "--force-color-profile=srgb",
                     "--disable-dev-shm-usage", `--user-data-dir=${folder}`];
    if (process.getuid() === 0)
        options.push("--no-sandbox"); /* it refuses to be root's with one */
    const child = spawn("chromium", [...options, "about:blank"], {
        stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
        env: { ...process.env, HOME: folder } });
    const [, , complaints, to, from] = child.stdio;
    const waiting = new Map(), events = [];
    const ended = new Promise((resolve) => child.on("exit", resolve));
    let number = 0, rest = "", complaint = "";
    complaints.setEncoding("utf8").on("data", (text) => {
        complaint = (complaint + text).slice(-4000);
    });
    from.setEncoding("utf8").on("data", (text) => {
        const messages = (rest + text).split("\0");
        rest = messages.pop();
        for (const message of messages.map((one) => JSON.parse(one))) {
            if (message.id)
                waiting.get(message.id)?.(message);
            else
                events.forEach((hear) => hear(message));
        }
    });
    to.on("error", () => {});
    ended.then(() => waiting.forEach((answer) =>
        answer({ error: { message: "Chromium has ended" } })));

    async function send(method, params = {}, sessionId) {
        const id = ++number;
        const answer = new Promise((resolve) => waiting.set(id, resolve));
        to.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
        const { result, error } = await answer;
        waiting.delete(id);
        if (error)
            throw new Error(`${method}: ${error.message}`);
        return result;
    }

    /* Ends it as a crash would, at once. */
    async function kill() {
        child.kill("SIGKILL");
        await ended;
    }

    async function close() {
        await send("Browser.close").catch(() => {});
        const late = setTimeout(kill, 5000);
        await ended;
        clearTimeout(late); /* node would wait for it */
    }

    await send("Browser.getVersion").catch(() => {
        const reason = complaint.trim().split("\n").pop();
        const sentences = reason.replace(/^\[.*?\] /, "");
        throw new NoChromium(sentences.match(/^.*?\.(?= |$)/)?.[0] ??
                             (sentences || "it ended"));
    });
    return { send, kill, close, hear: (listener) => events.push(listener) };
}

/* A page: of a width and height, light or dark; before it a script may run. It
   is there when it says so, by data-ready. */
export async function open(browser, url, {
    width = 1280, height = 800, scale = 1, dark = false, phone = false,
    calm = false, before = "", ready = "yes", patience = 60 } = {}) {
    const { targetId } = await browser.send("Target.createTarget",
                                            { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget",
                                             { targetId, flatten: true });
    const send = (method, params) => browser.send(method, params, sessionId);
    const errors = [];
    browser.hear(({ method, params, sessionId: where }) => {
        if (where !== sessionId)
            return;
        if (method === "Runtime.exceptionThrown")
            errors.push(params.exceptionDetails.exception?.description ??
                        params.exceptionDetails.text);
        if (method === "Runtime.consoleAPICalled" && params.type === "error")
            errors.push(params.args.map((one) => one.value).join(" "));
        if (method === "Log.entryAdded" && params.entry.level === "error")
            errors.push(params.entry.text);
    });
    await send("Runtime.enable");
    await send("Log.enable");
    await send("Page.enable");
    await send("Page.addScriptToEvaluateOnNewDocument", { source: before });
    await send("Emulation.setDeviceMetricsOverride", {
        width, height, deviceScaleFactor: scale, mobile: phone });
    await send("Emulation.setEmulatedMedia", { features: [
        { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
        { name: "prefers-reduced-motion",
          value: calm ? "reduce" : "no-preference" }] });

    async function evaluate(expression) {
        const { result, exceptionDetails } = await send("Runtime.evaluate", {
            expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails)
            throw new Error(exceptionDetails.exception?.description ??
                            exceptionDetails.text);
        return result.value;
    }

    /* Until an expression holds; an error if it does not in time. */
    async function until(expression, seconds = patience) {
        for (let i = 0; i < 10 * seconds; i++) {
            if (await evaluate(expression))
                return;
            await wait(100);
        }
        throw new Error(`never: ${expression}`);
    }

    /* How many frames a second the page draws. */
    const frames = async (seconds) => await evaluate(`new Promise((resolve) => {
        let frames = 0;
        const start = performance.now();
        const tick = () => performance.now() - start > ${1000 * seconds}
            ? resolve(frames) : (frames++, requestAnimationFrame(tick));
        tick();
    })`) / seconds;

    /* Milliseconds of its thread's processor time that a call takes. */
    async function busy(call) {
        await send("Performance.enable", { timeDomain: "threadTicks" });
        const spent = async () => (await send("Performance.getMetrics")).metrics
            .find(({ name }) => name === "TaskDuration").value;
        const before = await spent();
        await call();
        return (await spent() - before) * 1000;
    }

    /* Where the middle of an element is, once it is in sight. */
    const middle = (selector) => evaluate(`(() => {
        const element = document.querySelector(${JSON.stringify(selector)});
        element.scrollIntoView({ block: "center" });
        const { x, y, width, height } = element.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
    })()`);

    async function click(selector) {
        const at = await middle(selector);
        for (const type of ["mousePressed", "mouseReleased"])
            await send("Input.dispatchMouseEvent",
                       { type, ...at, button: "left", clickCount: 1 });
    }

    /* What a select or a field has, as who changes it. */
    const choose = (selector, value) => evaluate(`{
        const element = document.querySelector(${JSON.stringify(selector)});
        element.value = ${JSON.stringify(value)};
        element.dispatchEvent(new Event("change"));
    }`);

    async function drag(selector, items, files) {
        const data = { items, files, dragOperationsMask: 1 };
        const at = await middle(selector);
        for (const type of ["dragEnter", "dragOver", "drop"])
            await send("Input.dispatchDragEvent", { type, ...at, data });
    }

    /* Drops files on an element, as from a folder's window, or a text. */
    const drop = (selector, ...files) => drag(selector, [], files);
    const drop_text = (selector, text) =>
        drag(selector, [{ mimeType: "text/plain", data: text }], []);

    async function press(key, code) {
        for (const type of ["keyDown", "keyUp"])
            await send("Input.dispatchKeyEvent", {
                type, key, code: key, windowsVirtualKeyCode: code,
                text: type === "keyDown" && key === "Enter" ? "\r" : undefined
            });
    }

    const type = (text) => send("Input.insertText", { text });

    async function shoot(file, whole = false) {
        const { data } = await send("Page.captureScreenshot", {
            format: "png", captureBeyondViewport: whole });
        fs.writeFileSync(file, Buffer.from(data, "base64"));
    }

    async function load() {
        await send("Page.navigate", { url });
        await until(`document.body?.dataset.ready === "${ready}"`);
    }

    await load();
    return { send, evaluate, until, frames, busy, click, choose, drop,
             drop_text, press, type, shoot, load, errors,
             close: () => browser.send("Target.closeTarget", { targetId }) };
}
