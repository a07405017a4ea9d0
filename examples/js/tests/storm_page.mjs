/* storm_page.mjs - a run of the page for examples/tests/storm.py to kill:

       node examples/js/tests/storm_page.mjs FOLDER RANKS

   in the project's root, after make web: begins one in a Chromium whose profile
   is in FOLDER, or goes on with the one that is kept there, on so many ranks,
   and prints its digest when it is done. */
import path from "node:path";
import { launch, open } from "./chromium.mjs";

/* As many seconds as storm.py gives the whole run. */
const LONG = 600;
/* Some seconds to learn: else most kills were of a browser that starts. */
const WORDS = "It was the sample of all samples. ".repeat(100);
const [folder, worldSize] = process.argv.slice(2);
const on = `on ${worldSize} rank${worldSize === "1" ? "" : "s"}`;
const browser = await launch(path.resolve(folder, "profile"));
try {
    const page = await open(browser, "file://" +
                            path.resolve("build/web/index.html"),
                            { calm: true, patience: LONG });
    const training = "document.body.dataset.training";
    const said = "document.getElementById('trainStatus').textContent";
    const begins = await page.evaluate(`${training} === "empty"`);
    /* What is kept goes on by itself on the ranks that it had: it is paused, if
       it is not done before. */
    await page.evaluate(`${training} === "running" &&
                         document.getElementById("train").click()`);
    await page.until(`${training} !== "running"`);
    const over = await page.evaluate(`${training} === "done"`);
    await page.choose("#trainWorldSize", worldSize);
    if (begins) {
        await page.click("#text");
        await page.evaluate("document.getElementById('text').select()");
        await page.type(WORDS);
        await page.press("Tab", 9);
    } else if (!over) {
        await page.until(`${said}.includes("${on}")`);
        console.log(`goes on ${on}`);
    }
    if (!over)
        await page.click("#train");
    await page.until(`${training} === "done"`);
    const end = await page.evaluate(said);
    if (!over && !end.startsWith(`Done ${on}: `))
        throw new Error(`chosen: ${worldSize} ranks; the page says: ${end}`);
    console.log("digest " + await page.evaluate(
        "document.getElementById('trainStatus').dataset.digest"));
} finally {
    await browser.close();
}
