/* shots.mjs - pictures of the page, to be looked at: both themes, phones.

       node examples/js/tests/shots.mjs FOLDER */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { launch, open } from "./chromium.mjs";

const [folder = "build/web"] = process.argv.slice(2);
const url = "file://" + path.resolve("build/web/index.html");
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "shots"));
const browser = await launch(profile);
try {
    for (const [name, options] of Object.entries({
        light: {}, dark: { dark: true },
        phone: { width: 390, height: 844, scale: 2, phone: true },
        small: { width: 375, height: 667, scale: 2, phone: true } })) {
        const page = await open(browser, url, options);
        /* As few as make a picture that is not large. */
        await page.evaluate(`{
            const samples = document.getElementById("numSamplesText");
            samples.value = "1,000";
            samples.dispatchEvent(new Event("change"));
        }`);
        await page.until("/step ([6-9]|1.) of/.test(" +
                         "document.getElementById('status').textContent)");
        await page.click("#train");
        await page.click("#kill");
        await page.click("#resume");
        await page.until("document.getElementById('otherStamp').textContent");
        await page.evaluate("scrollTo(0, 0)");
        await page.shoot(`${folder}/${name}.png`);
        await page.evaluate(`document.querySelectorAll("canvas").forEach(
            (one) => one.style.contentVisibility = "visible")`);
        await page.shoot(`${folder}/${name}-whole.png`, true);
        for (const error of page.errors)
            console.log(`${name}: ${error}`);
        await page.close();
    }
} finally {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
