# npm.sh - the npm package: each test installs it in an empty project, does
# what a user does, and compares what the project's program prints. (In Chromium
# examples/js/tests/page.mjs asks for it.)

. examples/packaging/common.sh
tools=build/npm/node_modules

# An empty project in the folder `app`, and what its program must print.
project() {
    (cd "$root" && sh examples/packaging/npm.sh "$folder")
    mkdir -p app/node_modules/statesampler
    tar -xzf statesampler-*.tgz --strip-components=1 \
        -C app/node_modules/statesampler
    cd app
    echo '{ "name": "app", "dependencies": { "statesampler": "*" } }' \
        >package.json
    names='{ Bag, Sampler, version }'
    run='const s = new Sampler({ numSamples: 1003, seed: 7, batchSize: 9 });
        s.skip(); const bag = new Bag([1, 2, 3, 4], { seed: 7 });
        console.log([s.next(), s.save(), version, bag.draw()].join());'
    echo "import $names from 'statesampler'; $run" >app.mjs
    echo "import $names from 'statesampler/files'; $run" >files.mjs
    echo "const $names = require('statesampler'); $run" >app.cjs
    echo "import $names from '$root/build/web/statesampler.mjs'; $run" \
        >../direct.mjs
    node ../direct.mjs >../want
}

# Whether a command prints what the program must.
prints() { # COMMAND...
    "$@" >../got 2>../said && cmp -s ../want ../got || {
        echo "$* does not print what it must, but:"
        cat ../got ../said
        return 1
    }
}

tool_path() { # FILE
    echo "$root/$tools/$1"
}

# A script alone in an engine that has WebAssembly and atob, and nothing else.
bare_engine() {
    cat <<'END'
const fs = require("fs"), vm = require("vm");
const context = vm.createContext({ atob, console: { log: console.log } });
for (const file of process.argv.slice(2))
    vm.runInContext(fs.readFileSync(file, "utf8"), context);
END
}

# --- Installed ----------------------------------------------------------------

# npm itself, where it is, as the package's README says; with "type": "module"
# and without.
installed() {
    project
    prints node app.mjs
    prints node app.cjs
    prints node files.mjs
    if command -v npm >/dev/null; then
        file=$(sed -n 's/^    npm install //p' \
            node_modules/statesampler/README.md)
        cp ../statesampler-*.tgz .
        rm -r node_modules
        echo '{ "type": "module" }' >package.json
        quietly npm install --offline --no-audit --no-fund --cache ../cache \
            "$file"
        cp app.mjs app.js
        prints node app.js
        prints node app.cjs
        quietly npm uninstall --offline --no-audit --no-fund --cache ../cache \
            statesampler
        [ ! -e node_modules/statesampler ]
    else
        echo 'skip npm install and uninstall: npm is not here'
    fi
}

# What is in it, and that the same sources make the same bytes.
contents() {
    project
    find node_modules -type f | wc -l | grep -qx 16
    grep -rl '@[A-Z]*@' node_modules | nothing
    node -p 'require("statesampler/package.json").type' | grep -qx commonjs
    node -p 'require("statesampler/package.json").version' >../version
    read_version <"$root/statesampler.h" | cmp - ../version
    mv ../statesampler-*.tgz ../first
    (cd "$root" && umask 077 && sh examples/packaging/npm.sh "$folder")
    cmp ../first ../statesampler-*.tgz
}

# The block of its README.
readme() {
    project
    {
        echo 'let served = 0;'
        echo 'const train = (batch) => served += batch.length;'
        sed -n '/^```js$/,/^```$/{ /^```/!p; }' \
            node_modules/statesampler/README.md
        echo 'console.log(served, state.length);'
    } >readme.mjs
    echo 50000 112 >../want
    prints node readme.mjs
}

sizes() {
    project
    cd node_modules/statesampler
    tar=$(cat ../../../statesampler-*.tgz | wc -c)
    module=$(gzip -9n <statesampler.mjs | wc -c)
    script=$(gzip -9n <statesampler.js | wc -c)
    files=$(cat files.mjs statesampler-simd.wasm | gzip -9n | wc -c)
    steering=$(cat steering.mjs steering.d.mts | gzip -9n | wc -c)
    said="$tar bytes; gzipped: module $module, script $script, files $files,"
    said="$said steering $steering"
    # The bars are for what is shipped, by all tools; without one a tenth more, as
    # in page.sh. Of the 82,000 bytes 22,000 are for steering, which has
    # WebAssembly of its own.
    most=82000 some=22000
    command -v wasm-opt >/dev/null && command -v esbuild >/dev/null &&
        command -v advdef >/dev/null || most=90200 some=24200
    [ $((tar - steering)) -le $((most - some)) ] && [ $steering -le $some ] &&
        [ $module -le 30720 ] && [ $script -le 30720 ] || {
        echo "$said"
        return 1
    }
    echo "note: $said"
}

# From import to the first batch, the best of five processes. It waits for
# nothing, so this is processor time: other tests run at the same time.
first_batch() {
    project
    cat >time.mjs <<'END'
const start = process.cpuUsage();
const { Sampler } = await import("statesampler");
new Sampler({ numSamples: 1e6, batchSize: 32 }).next();
const { user, system } = process.cpuUsage(start);
console.log(Math.ceil((user + system) / 1000));
END
    for turn in 1 2 3 4 5; do
        node time.mjs
    done | sort -n >../times
    read -r ms <../times
    [ $ms -le 100 ] || {
        echo "$ms ms"
        return 1
    }
    echo "note: $ms ms, of 100"
}

# --- With other packages ------------------------------------------------------

# The program of examples/js, killed at a random batch until it ends: every
# sample is trained on once in each epoch, and at most one batch more for each
# kill between its training and its save.
reads_ahead() {
    project
    ln -s "$root/$tools/@tensorflow" node_modules/@tensorflow
    cp "$root/examples/js/tfdata.mjs" .
    cat >kills.mjs <<'END'
import { spawn } from "node:child_process";
let kills = 0, lines = [];
const run = (most) => new Promise((ended) => {
    const child = spawn("node", ["tfdata.mjs", "state"]), from = lines.length;
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more) => {
        text += more;
        if (text.split("\n").length > most)
            child.kill("SIGKILL");
    });
    child.on("close", (code, signal) => {
        kills += signal === "SIGKILL";
        lines.push(...text.split("\n").slice(0, -1));
        ended(code === 0);
    });
});
let most = 7;
while (!await run(most))
    most = most * 5 % 31 + 5;
/* A line whose batch was not saved is printed again by the next run. */
const once = [...new Set(lines)];
for (const epoch of [0, 1]) {
    const all = once.filter((one) => one.startsWith(`epoch ${epoch}: `))
        .flatMap((one) => one.slice(9).split(","));
    if (all.length !== 1000 || new Set(all).size !== 1000)
        throw new Error(`epoch ${epoch}: ${all.length} samples`);
}
if (kills < 4 || lines.length > once.length + kills)
    throw new Error(`${kills} kills, ${lines.length} of ${once.length} lines`);
const twice = lines.length - once.length;
console.log(`note: ${kills} kills, ${twice} batches twice`);
END
    node kills.mjs
}

# Vue makes what is in a reactive object reactive, but not these.
in_vue() {
    project
    ln -s "$root/$tools/@vue" node_modules/@vue
    cat >vue.cjs <<'END'
const { isReactive, reactive } = require("@vue/reactivity");
const { Audit, Bag, Ledger, Mix, Perm, Sampler } = require("statesampler");
const one = { numSamples: 9 };
const state = reactive({ all: [
    new Sampler(one), new Mix([one]), new Perm(9), new Audit(), new Bag([1, 2]),
    new Ledger({ window: 64 })], mine: { plain: true } });
const [sampler, mix, perm, audit, bag, ledger] = state.all;
audit.add(sampler.next());
console.log(isReactive(state.mine), state.all.some(isReactive), sampler.step,
            mix.next().source, perm.at(0) < 9, audit.count, bag.left,
            ledger.issue());
END
    echo true false 1 0 true 1 2 0 >../want
    prints node vue.cjs
}

# Datasets with names, against C; and from the package.
named_mixtures() {
    quietly $CC -std=c99 $STB_FLAGS -O1 -I"$root" -o mixture \
        "$root/examples/js/tests/mixture.c"
    project
    (cd "$root" && timeout -k 10 250 \
        node examples/js/tests/mixture.mjs build/web "$folder/mixture")
    cat >named.mjs <<'END'
import { Mixture } from "statesampler/mixture";
const mixture = new Mixture(new Map([["a", { numSamples: 9 }]]));
console.log(mixture.next().source, mixture.names.join());
END
    echo 0 a >../want
    prints node named.mjs
}

# Runs that people steer, from the package; also in a script, which cannot
# await.
steered() {
    project
    cat >steered.mjs <<'END'
import { Sampler } from "statesampler";
import { History, RecordedSampler } from "statesampler/steering";
const run = new RecordedSampler({ numSamples: 90, batchSize: 9 });
const first = run.next();
run.seek(7);
console.log(run instanceof Sampler, run.step,
            String(new History(run.save()).at(0)[0].indices) === String(first));
END
    echo true 7 true >../want
    prints node steered.mjs
    ! command -v esbuild >/dev/null || {
        quietly esbuild steered.mjs --bundle --format=iife --log-level=error \
            --outfile=../steered.js
        prints node ../steered.js
    }
}

# --- Other engines ------------------------------------------------------------

bare() {
    project
    bare_engine >../bare.cjs
    echo "const $names = statesampler; $run" >page.js
    prints node ../bare.cjs node_modules/statesampler/statesampler.js page.js
    # As a module: it is there as soon as it is evaluated, without an await.
    cat >../module.mjs <<'END'
import fs from "node:fs";
import vm from "node:vm";
const [file, ...wasm] = process.argv.slice(2);
/* With files of WebAssembly these are all that may be compiled. */
const context = vm.createContext({ atob, console: { log: console.log } }, {
    codeGeneration: { strings: false, wasm: wasm.length === 0 } });
const read = (name) => fs.readFileSync("node_modules/statesampler/" + name);
const module = new vm.SourceTextModule(read(file).toString(), { context });
await module.link((name) => {
    const other = new vm.SyntheticModule(["default"], () => other.setExport(
        "default", new WebAssembly.Module(read(name))), { context });
    return wasm.includes(name) ? other : null;
});
module.evaluate();
if (module.status !== "evaluated")
    throw module.error ?? new Error("it is " + module.status);
context.statesampler = module.namespace;
vm.runInContext(fs.readFileSync("page.js", "utf8"), context);
END
    prints node --experimental-vm-modules --no-warnings ../module.mjs \
        statesampler.mjs
    prints node --experimental-vm-modules --no-warnings ../module.mjs \
        workerd.mjs ./statesampler-simd.wasm ./bag.wasm
}

# Without SIMD all of them work.
no_simd() {
    project
    echo 'WebAssembly.validate = () => false;' >../no_simd.cjs
    for program in app.mjs app.cjs files.mjs; do
        prints node -r ../no_simd.cjs $program
    done
}

# What an engine lacks or refuses is said in a sentence, and the line that node
# prints above it is not 20 KB long.
says_why() { # SENTENCE COMMAND...
    sentence=$1
    shift
    ! "$@" >../got 2>../said &&
        grep -q "^ *Error: $sentence" ../said &&
        awk 'length > 500 { long = 1 } END { exit long }' ../said || {
        echo "$* says:"
        cut -c 1-500 ../got ../said
        return 1
    }
}

no_webassembly() {
    project
    echo 'delete globalThis.WebAssembly;' >../none.cjs
    echo 'import "statesampler/mixture";' >mixture.mjs
    # Node loads no .wasm file before there is one.
    echo 'export default null;' >node_modules/statesampler/none.mjs
    sed 's/"[^"]*\.wasm"/".\/none.mjs"/g' node_modules/statesampler/workerd.mjs \
        >node_modules/statesampler/there.mjs
    grep -q none.mjs node_modules/statesampler/there.mjs
    for program in app.mjs app.cjs files.mjs mixture.mjs ../direct.mjs \
        node_modules/statesampler/there.mjs \
        node_modules/statesampler/statesampler.js; do
        says_why 'statesampler needs WebAssembly, .* Lockdown Mode)' \
            node -r ../none.cjs $program
    done
    says_why 'statesampler needs WebAssembly, .* Lockdown Mode)' \
        node --jitless app.mjs
    echo 'WebAssembly.Module = function () {
        throw new RangeError("disallowed on the main thread"); };' >../4KB.cjs
    for program in app.mjs app.cjs; do
        says_why ".* needs statesampler/files (disallowed on the main" \
            node -r ../4KB.cjs $program
    done
    # Nor is it for an error of whoever uses it.
    for program in app.mjs app.cjs files.mjs; do
        sed 's/1003/"many"/' $program >wrong.${program#*.}
        fails node wrong.${program#*.}
        grep -q '^RangeError: numSamples must be a whole number' said
        awk 'length > 500 { exit 1 }' said
    done
}

deno() {
    project
    deno=$(tool_path @deno/linux-x64-glibc/deno)
    export DENO_DIR="$PWD/../deno" DENO_NO_UPDATE_CHECK=1
    prints "$deno" run --no-prompt app.mjs
    prints "$deno" run --no-prompt --allow-read files.mjs
}

bun() {
    project
    bun=$(tool_path @oven/bun-linux-x64/bin/bun)
    export HOME="$PWD/.." # it keeps a cache there
    for program in app.mjs app.cjs files.mjs; do
        prints "$bun" --no-install $program
    done
}

# Bundled as Cloudflare's tool does, which copies .wasm files; run by workerd.
workerd() {
    project
    echo "import $names from 'statesampler';
        export default { test() { $run } };" >worker.mjs
    quietly esbuild worker.mjs --bundle --format=esm --log-level=error \
        --conditions=workerd,worker --loader:.wasm=copy --asset-names=[name] \
        --outfile=out/worker.mjs
    cat >out/config.capnp <<'END'
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (
    compatibilityDate = "2024-09-23", modules = [
        (name = "worker.mjs", esModule = embed "worker.mjs"),
        (name = "bag.wasm", wasm = embed "bag.wasm"),
        (name = "statesampler-simd.wasm",
         wasm = embed "statesampler-simd.wasm")]))]);
END
    prints "$(tool_path @cloudflare/workerd-linux-64/bin/workerd)" test \
        out/config.capnp
}

# --- Bundlers -----------------------------------------------------------------

# Every bundle is made by default, except what the package's README says that
# somebody needs.

# A page that, when its worker has answered, says what the program prints, and
# what the worker does.
page_with_worker() { # MODULE
    project
    says=$(echo "import $names from '$1'; $run" | sed 's/console.log/say/')
    echo "$says function say(line) { postMessage(line); }" >worker.mjs
    cat >main.mjs <<END
$says
function say(line) {
    const worker = new Worker(new URL("./worker.mjs", import.meta.url),
                              { type: "module" });
    worker.onmessage = ({ data }) => {
        document.body.textContent = line + "\\n" + data;
        document.body.dataset.ready = "yes";
    };
}
END
    page_for ./main.mjs >index.html
    cat ../want ../want >../both
}

page_for() { # PROGRAM
    echo '<!doctype html><link rel="icon" href="data:,"><body>'
    echo "<script type='module' src='$1'></script></body>"
}

# Whether it does so in Chromium, where there is one.
shows() { # ADDRESS|FOLDER
    command -v chromium >/dev/null || return 0
    (cd "$root" && timeout -k 5 120 \
        node examples/js/tests/bundled.mjs "$1") >../got 2>../said || {
        echo "$1 does not open:"
        cat ../got ../said
        return 1
    }
    grep '^skip ' ../got || cmp ../both ../got
}

# Each output is run where there is nothing else beside it.
by_esbuild() {
    project
    bare_engine >../bare.cjs
    for program in app.mjs app.cjs; do
        for platform in browser node; do
            for format in esm cjs iife; do
                quietly esbuild $program --bundle --minify --format=$format \
                    --log-level=error --platform=$platform --outfile=../out.js
                case $format in
                esm)
                    mv ../out.js ../out.mjs
                    prints node ../out.mjs
                    ;;
                cjs)
                    mv ../out.js ../out.cjs
                    prints node ../out.cjs
                    ;;
                iife) prints node ../bare.cjs ../out.js ;;
                esac
            done
        done
    done
}

# It leaves the worker's address as it is, and the .wasm files where they are.
pages_by_esbuild() { # MODULE
    page_with_worker $1
    quietly esbuild main.mjs worker.mjs --bundle --format=esm \
        --log-level=error --outdir=../page --out-extension:.js=.mjs
    cp index.html ../page
    [ $1 = statesampler ] || cp node_modules/statesampler/*.wasm ../page
    shows "$PWD/../page"
}

rollup_with() { # CALLS
    cat <<END
import { rollup } from "$(tool_path rollup/dist/es/rollup.js)";
import resolve from "$(tool_path @rollup/plugin-node-resolve/dist/es/index.js)";
const built = (input) => rollup({ input, plugins: [resolve()] });
$1
END
}

by_rollup() {
    project
    bare_engine >../bare.cjs
    rollup_with 'const build = await built("app.mjs");
        for (const [format, name] of [["es", "mjs"], ["cjs", "cjs"],
                                      ["iife", "js"]])
            await build.write({ format, file: "../out." + name });' \
        >../rollup.mjs
    quietly node ../rollup.mjs
    prints node ../out.mjs
    prints node ../out.cjs
    prints node ../bare.cjs ../out.js
}

pages_by_rollup() { # MODULE
    page_with_worker $1
    rollup_with 'for (const file of ["main.mjs", "worker.mjs"])
        await (await built(file)).write({ file: "../page/" + file });' \
        >../rollup.mjs
    quietly node ../rollup.mjs
    cp index.html ../page
    [ $1 = statesampler ] || cp node_modules/statesampler/*.wasm ../page
    shows "$PWD/../page"
}

# It takes the two .wasm files along by itself.
by_webpack() {
    project
    bare_engine >../bare.cjs
    cat >../webpack.cjs <<END
const webpack = require("$(tool_path webpack)");
const bundle = (program, target, folder) => ({
    mode: "production", entry: "./" + program, target,
    output: { path: process.cwd() + "/../bundle/" + folder,
              filename: program + ".js" } });
webpack([bundle("files.mjs", "node", "files"),
    ...["app.mjs", "app.cjs"].flatMap((program) =>
        ["node", "webworker"].map((target) =>
            bundle(program, target, target)))], (error, stats) => {
    if (error || stats.hasErrors())
        throw error ?? stats.toString();
});
END
    quietly node ../webpack.cjs
    for program in app.mjs app.cjs; do
        prints node ../bundle/node/$program.js
        prints node ../bare.cjs ../bundle/webworker/$program.js
    done
    prints node ../bundle/files/files.mjs.js
    # Before 20.16 node has no such function; Debian 12 has 18.
    echo 'delete process.getBuiltinModule;' >../old.cjs
    prints node -r ../old.cjs ../bundle/files/files.mjs.js
    ls ../bundle/files | grep -c '\.wasm$' | grep -qx 2
}

pages_by_webpack() { # MODULE
    page_with_worker $1
    cat >../webpack.cjs <<END
require("$(tool_path webpack)")({
    mode: "production", entry: "./main.mjs",
    output: { path: process.cwd() + "/../page" } }, (error, stats) => {
    if (error || stats.hasErrors())
        throw error ?? stats.toString();
});
END
    quietly node ../webpack.cjs
    page_for ./main.js >../page/index.html
    shows "$PWD/../page"
}

# Built for pages, built for SSR with all in it and without, and in SSR's
# development server.
by_vite() { # TOOL
    project
    bare_engine >../bare.cjs
    cat >../vite.mjs <<END
import { build, createServer } from "$(tool_path $1/dist/node/index.js)";
const common = { root: process.cwd(), logLevel: "error", configFile: false,
                 cacheDir: "../vite" };
const built = (outDir, more) => build({ ...common, ...more,
    build: { outDir, emptyOutDir: true, ...more.build } });
const lib = (entry) => ({ entry, formats: ["iife"], name: "app" });
await built("../page", { build: { lib: lib("app.mjs") } });
const ssr = { build: { ssr: "app.mjs" } };
await built("ssr", ssr);
await built("../whole", { ...ssr, ssr: { noExternal: true } });
for (const noExternal of [undefined, true]) {
    const server = await createServer({ ...common, ssr: { noExternal },
        appType: "custom", server: { middlewareMode: true, ws: false } });
    await server.ssrLoadModule("/app.mjs");
    await server.close();
}
END
    node ../vite.mjs >../got 2>../said || {
        cat ../said
        return 1
    }
    cat ../want ../want | cmp - ../got
    prints node ../bare.cjs ../page/*.js
    prints node ssr/app.mjs
    prints node ../whole/app.mjs
}

# Built, and by the development server, which keeps its own copies of modules.
pages_by_vite() { # TOOL MODULE
    page_with_worker $2
    [ $2 = statesampler ] ||
        sed -n '/^export default {/,/^};/p' node_modules/statesampler/README.md \
            >vite.config.mjs
    cat >../vite.mjs <<END
import { build, createServer } from "$(tool_path $1/dist/node/index.js)";
const common = { root: process.cwd(), logLevel: "error", cacheDir: "../vite" };
await build({ ...common, build: { outDir: "../page", emptyOutDir: true } });
const server = await createServer({ ...common,
    server: { host: "127.0.0.1", port: 0 } });
await server.listen();
console.log("http://127.0.0.1:" + server.httpServer.address().port + "/");
END
    node ../vite.mjs >../address 2>../said &
    server=$!
    trap 'kill $server 2>/dev/null' EXIT
    for second in $(seq 60); do
        [ ! -s ../address ] && kill -0 $server 2>/dev/null || break
        sleep 1
    done
    [ -s ../address ] || {
        cat ../said
        return 1
    }
    shows "$PWD/../page"
    shows "$(cat ../address)"
    [ $2 = statesampler ] ||
        ls ../page/assets | grep -c '\.wasm$' | grep -qx 2
}

# --- Types --------------------------------------------------------------------

# Strict, declarations included: for import and require, then as projects were
# before node16 or are for bundlers, and for the plain script.
types() { # node|bundler COMPILER...
    project
    way=$1
    shift
    set -- "$@" --strict --target es2020 --lib es2020
    sed 's#"[^"]*/statesampler.mjs"#"statesampler"#' \
        "$root/examples/js/tests/types.mts" >types.mts
    sed 's#"statesampler"#"statesampler/files"#' types.mts >files.mts
    sed 's#"[^"]*/mixture.mjs"#"statesampler/mixture"#' \
        "$root/examples/js/tests/named.mts" >named.mts
    sed -e 's#"[^"]*/statesampler.mjs"#"statesampler"#' \
        -e 's#"[^"]*/steering.mjs"#"statesampler/steering"#' \
        "$root/examples/js/tests/steered.mts" >steered.mts
    cp types.mts required.cts
    cp types.mts types.ts
    echo "declare const console: { log(text: string): void };
        import $names from 'statesampler'; $run" >run.ts
    echo 'statesampler.describeState(new statesampler.Audit().save()).seed;' \
        >page.ts
    quietly "$@" --module node16 --moduleResolution node16 \
        types.mts files.mts named.mts steered.mts required.cts run.ts
    prints node run.js
    # What is wrong is refused, and nothing else.
    echo 'import { Sampler } from "statesampler"; new Sampler({}).next;' >no.ts
    ! "$@" --noEmit --module es2020 --moduleResolution $way \
        --types statesampler --pretty false types.ts page.ts no.ts >../got
    grep -q "'numSamples' is missing" ../got &&
        ! grep -v '^no.ts\|^ ' ../got || {
        cat ../got
        return 1
    }
}

from_npm() { # TOOL WHAT
    [ -d $tools/$1 ] && return 0
    skip "The npm package: $2" "what make deps-npm installs"
    return 1
}

list_tests() {
    tool clang 'The npm package' && tool wasm-ld 'The npm package' &&
        tool node 'The npm package' || return 0
    add_test 'The npm package: installed, imported, required' installed
    add_test 'The npm package: what is in it, with the version of the header' \
        contents
    add_test 'The npm package: the block of its README' readme
    add_test 'The npm package: its size, of 82 KB, of 30 KiB gzipped' sizes
    add_test 'The npm package: the first batch within 100 ms of import' first_batch
    add_test 'The npm package: no fetch, no await, no files' bare
    add_test 'The npm package: an engine without SIMD' no_simd
    add_test 'The npm package: an engine without WebAssembly' no_webassembly
    [ -z "$STB_FLAGS" ] || add_test 'The npm package: mixtures of named datasets' \
        named_mixtures
    add_test 'The npm package: histories of runs that people steer' steered
    ! from_npm @tensorflow/tfjs-data TensorFlow.js ||
        add_test "The npm package: TensorFlow.js's tf.data, killed" reads_ahead
    ! from_npm @vue/reactivity Vue ||
        add_test "The npm package: Vue's reactive" in_vue
    ! tool esbuild 'The npm package: esbuild' ||
        add_test 'The npm package: esbuild' by_esbuild
    for name in rollup webpack; do
        ! from_npm $name $name || add_test "The npm package: $name" by_$name
    done
    for version in vite5 vite vite7; do
        ! from_npm $version $version ||
            add_test "The npm package: $version" by_vite $version
    done
    tool chromium 'The npm package in bundled pages' || :
    for module in statesampler statesampler/files; do
        page="The npm package: $module in a page and its worker"
        ! command -v esbuild >/dev/null ||
            add_test "$page, by esbuild" pages_by_esbuild $module
        for name in rollup webpack; do
            [ ! -d $tools/$name ] ||
                add_test "$page, by $name" pages_by_$name $module
        done
        for version in vite5 vite vite7; do
            [ ! -d $tools/$version ] ||
                add_test "$page, by $version" pages_by_vite $version $module
        done
    done
    ! tool tsc "The npm package: Debian's TypeScript" ||
        add_test "The npm package: Debian's TypeScript" types node tsc
    for version in 54 59 7; do
        ! from_npm typescript$version "TypeScript $version" ||
            add_test "The npm package: TypeScript $version" \
                types bundler node '"$(tool_path' typescript$version/bin/tsc')"'
    done
    ! from_npm @deno/linux-x64-glibc Deno || add_test 'The npm package: Deno' deno
    ! from_npm @oven/bun-linux-x64 Bun || add_test 'The npm package: Bun' bun
    ! from_npm @cloudflare/workerd-linux-64 workerd ||
        ! tool esbuild 'The npm package: workerd' ||
        add_test 'The npm package: workerd' workerd
}
