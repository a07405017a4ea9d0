/* ledger.mjs - does a ledger in JavaScript do what ledger.h of examples/extras
   does?

       node examples/js/tests/ledger.mjs MODULE PROGRAM

   PROGRAM is tests/extras/ledger_text.c, which is given the same random commands. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import test, { after } from "node:test";
import { random } from "./random.mjs";

const [file, program] = process.argv.slice(2);
const { Ledger, LedgerError } = await import(path.resolve(file));
let checks = 0;

function same(have, want, what) {
    checks++;
    assert.deepEqual(have, want, what);
}

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const unhex = (text) => new Uint8Array(Buffer.from(text, "hex"));

/* What a call answers, as the program in C says it. */
function answer(call) {
    try {
        return String(call() ?? "OK");
    } catch (error) {
        if (error instanceof LedgerError)
            return error.kind;
        assert.ok(error instanceof RangeError, error.stack);
        return "EINVAL";
    }
}

/* --- Against C ------------------------------------------------------------ */

const WINDOWS = [64, 128, 192, 320, 4096];
let ledger, saved; /* the last state */
const kinds = new Set();

const COMMANDS = {
    begin: () => {
        const window = random(20) ? WINDOWS[random(5)] : random(100);
        const end = random(random(2) ? 3000 : 100);
        return [`begin ${window} ${end}`, () => {
            ledger = new Ledger({ window, end });
        }];
    },
    issue: () => ["issue", () => ledger.issue() ?? "none"],
    done: () => {
        const ticket = random(20)
            ? ledger.frontier + random(Math.min(ledger.window, 90))
            : random(3000);
        return [`done ${ticket}`, () => ledger.done(ticket)];
    },
    save: () => ["save", () => saved = hex(ledger.save())],
    load: () => {
        let text = saved ?? "00";
        const at = 2 * random(text.length / 2);
        if (random(5) === 0)
            text = text.slice(0, at) + "a5" + text.slice(at + 2);
        else if (random(5) === 0)
            text = text.slice(0, at);
        return [`load ${text}`, () => ledger.load(unhex(text))];
    },
};

/* Most often issue and done, so that much is done ahead. */
function draw() {
    const one = random(200);
    return COMMANDS[one === 0 ? "begin" : one < 4 ? "save" : one < 6 ? "load"
        : one < 110 ? "issue" : "done"]();
}

function against_c() {
    const asked = [], answers = [];
    const ask = ([command, call]) => {
        asked.push(command);
        answers.push(answer(call));
    };
    saved = undefined;
    ledger = undefined;
    ask(["begin 64 5000", () => {
        ledger = new Ledger({ window: 64, end: 5000 });
    }]);
    for (let step = 0; step < 20000; step++)
        ask(draw());
    const { status, stdout } = spawnSync(program, {
        input: asked.join("\n") + "\n", encoding: "utf8",
        maxBuffer: 2 ** 28 });
    same(status, 0);
    const want = stdout.trim().split("\n");
    same(want.length, asked.length);
    want.forEach((line, i) => same(answers[i], line, `${i}: ${asked[i]}`));
    answers.forEach((one) => kinds.add(one));
}

test("random commands, as in C", () => {
    for (let run = 0; run < 8; run++)
        against_c();
    for (const kind of ["OK", "none", "EDONE", "EISSUED", "EAHEAD", "EINVAL",
                        "EMISMATCH", "ECORRUPT"])
        assert.ok(kinds.has(kind), kind);
});

/* --- Arguments ------------------------------------------------------------ */

function refuses(call, what) {
    const before = hex(ledger.save()), { frontier } = ledger;
    assert.throws(call, what);
    same([hex(ledger.save()), ledger.frontier], [before, frontier]);
}

test("arguments", () => {
    ledger = new Ledger({ window: 128n, end: 10n });
    same([ledger.window, ledger.end, ledger.frontier], [128, 10, 0]);
    same([ledger.issue(), ledger.issue(), ledger.issue()], [0, 1, 2]);
    ledger.done(1n);
    refuses(() => ledger.done(1), /^LedgerError: ticket 1 is done already$/);
    refuses(() => ledger.done(3), /^LedgerError: ticket 3 was not issued$/);
    for (const ticket of [-1, 0.5, NaN, "0", null, undefined, 2 ** 53, -1n,
                          2n ** 60n])
        refuses(() => ledger.done(ticket),
                /^RangeError: ticket must be .* from 0 to 2\^53 - 1, not /);
    for (const window of [0, 63, 65, 100, -64, 2 ** 32, NaN, "64", undefined])
        refuses(() => new Ledger({ window }), /^RangeError: window must be/);
    for (const end of [-1, 0.5, NaN, 2 ** 53, 2n ** 53n, "9", null])
        refuses(() => new Ledger({ window: 64, end }),
                /^RangeError: end must be .* from 0 to 2\^53 - 1, not /);
    refuses(() => new Ledger({ window: 64, ends: 9 }), /^TypeError: a field/);
    for (const options of [undefined, null])
        refuses(() => new Ledger(options), TypeError);
    for (const state of [undefined, null, "state", [1, 2], {},
                         new ArrayBuffer(40), new Uint32Array(10),
                         new DataView(new ArrayBuffer(40))])
        refuses(() => ledger.load(state), /^TypeError: a state must be/);
    refuses(() => { ledger.end = 5; }, TypeError);
    /* A state may lie anywhere in a buffer, and is one's own. */
    const odd = Buffer.alloc(100), state = ledger.save();
    odd.set(state, 3);
    const other = new Ledger({ window: 64 });
    other.load(odd.subarray(3, 3 + state.length));
    same(hex(odd.subarray(3, 3 + state.length)), hex(state));
    same([other.end, other.frontier], [Infinity, 0]);
    odd.fill(0);
    same([other.issue(), other.issue(), other.issue()], [0, 2, 3]);
    other.done(2);
    same(hex(ledger.save()), hex(state));
    const small = new Ledger({ window: 64, end: 1 });
    assert.throws(() => small.load(state),
                  /the state has ticket 1, but end is 1$/);
});

/* A state that no ledger saves, with the check word that it must have. */
function forged(window, frontier, bits, bytes = 32) {
    const words = new BigUint64Array(Math.ceil(bytes / 8));
    words.set([BigInt(window) << 32n | 0x314c5353n, frontier, bits]);
    words.subarray(0, -1).forEach((word) => {
        const h = BigInt.asUintN(
            64, (words.at(-1) ^ word) * 0x9e3779b97f4a7c15n);
        words[words.length - 1] = h ^ h >> 32n;
    });
    return new Uint8Array(words.buffer, 0, bytes);
}

/* Beyond 2^53 numbers are not exact: no run gets there, and a state that says
   so is refused. */
test("states that no ledger saves", () => {
    ledger = new Ledger({ window: 64 });
    const kind = (...state) => answer(() => ledger.load(forged(...state)));
    same(kind(64, 2n ** 53n - 65n, 0n), "OK");
    same(ledger.issue(), 2 ** 53 - 65);
    same(kind(64, 2n ** 53n + 64n, 0n), "EMISMATCH");
    same(kind(64, 2n ** 64n - 1n, 0n), "EMISMATCH");
    same(kind(64, 0n, 2n), "OK");
    same(kind(64, 0n, 1n), "ECORRUPT");
    same(kind(0, 0n, 0n, 24), "ECORRUPT");
    same(kind(96, 0n, 0n, 36), "ECORRUPT");
    same(kind(128, 0n, 0n), "ECORRUPT");
    /* In a window of 64 a ticket 64 after the frontier is too far. */
    for (const [last, want] of [[63, "OK"], [64, "EAHEAD"]]) {
        const wide = new Ledger({ window: 128 });
        for (let ticket = 0; ticket <= last; ticket++)
            wide.issue();
        wide.done(last);
        same(answer(() => ledger.load(wide.save())), want);
    }
});

after(() => console.log(`note: ${checks} checks`));
