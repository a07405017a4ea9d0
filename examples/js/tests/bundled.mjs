/* bundled.mjs - what a bundled page says in Chromium

       node examples/js/tests/bundled.mjs ADDRESS|FOLDER

   in the project's root: it opens that page, or serves the folder and opens its
   index.html, and prints the text that the page has when it is ready; or why
   Chromium does not start here. */
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { launch, NoChromium, open } from "./chromium.mjs";

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript",
                ".wasm": "application/wasm", ".html": "text/html" };
const [what] = process.argv.slice(2);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "bundled"));
const server = http.createServer(({ url }, answer) => {
    const file = path.join(what, url === "/" ? "index.html" : url);
    answer.statusCode = fs.existsSync(file) ? 200 : 404;
    answer.setHeader("Content-Type",
                     TYPES[path.extname(file)] ?? "text/plain");
    answer.end(answer.statusCode === 200 ? fs.readFileSync(file) : "");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const at = what.startsWith("http:") ? what
    : `http://127.0.0.1:${server.address().port}/`;
let browser;
try {
    browser = await launch(profile);
    const page = await open(browser, at, { patience: 20 }).catch((error) => {
        throw new Error(`${at} does not become ready: ${error.message}`);
    });
    if (page.errors.length > 0)
        throw new Error(page.errors.join("\n"));
    console.log(await page.evaluate("document.body.textContent"));
} catch (error) {
    if (!(error instanceof NoChromium))
        throw error;
    console.log(`skip Bundled pages in Chromium: it does not start here: ` +
                error.message);
} finally {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
