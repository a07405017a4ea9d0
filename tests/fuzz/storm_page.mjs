/* storm_page.mjs - a training run of the page for tests/fuzz/storm.py to kill:

       node tests/fuzz/storm_page.mjs FOLDER

   in the project's root, after make web: begins one in a Chromium whose profile
   is in FOLDER, or goes on with the one that is kept there, and prints its
   digest when it is done. */
import path from "node:path";
import { launch, open } from "../web/chromium.mjs";

const WORDS = "It was the sample of all samples. ".repeat(60);
const browser = await launch(path.resolve(process.argv[2], "profile"));
try {
    const page = await open(browser, "file://" +
                            path.resolve("build/web/index.html"),
                            { calm: true });
    await page.until("document.body.dataset.ready");
    /* What is kept goes on by itself. */
    const training = "document.body.dataset.training";
    if (await page.evaluate(`${training} === "empty"`)) {
        await page.click("#text");
        await page.evaluate("document.getElementById('text').select()");
        await page.type(WORDS);
        await page.press("Tab", 9);
        await page.click("#train");
    } else {
        console.log("goes on");
    }
    await page.until(`${training} === "done"`, 100);
    console.log("digest " + await page.evaluate(
        "document.getElementById('trainStatus').dataset.digest"));
} finally {
    await browser.close();
}
