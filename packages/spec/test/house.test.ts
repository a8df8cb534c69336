/** Each rule of `scripts/house.ts` fires on a small fixture, and the list of allowed findings only shrinks. */
import { assert, describe, it } from "@effect/vitest"
import * as House from "../../../scripts/house.ts"
import * as Language from "../../../scripts/house/language.ts"
import * as Manifest from "../../../scripts/house/manifest.ts"
import { type Finding, parse } from "../../../scripts/house/Module.ts"
import * as Names from "../../../scripts/house/names.ts"
import * as Patterns from "../../../scripts/house/patterns.ts"
import * as Rooms from "../../../scripts/house/rooms.ts"

const module = (file: string, text: string) => parse(`packages/a/src/${file}`, text)
const lines = (findings: ReadonlyArray<Finding>) => findings.map(({ file, line, rule }) => `${rule} ${file}:${line}`)
const finding = (file: string): Finding => ({ rule: "turns", file, line: 1, text: "" })

describe("House rules", () => {
  it("Two rooms that import each other are reported, even if only types cross", () => {
    const modules = [
      module("one/A.ts", `import type { B } from "../two/B.ts"\nexport interface A { b: B }`),
      module("two/B.ts", `export interface B {}`),
      module("two/C.ts", `export * from "../one/D.ts"`),
      module("one/D.ts", `export const d = 1`)
    ]
    assert.deepStrictEqual(lines(Rooms.oneWay(modules)), ["rooms packages/a/src/one:1"])
    assert.deepStrictEqual(Rooms.oneWay(modules.slice(0, 2)), [])
  })

  it("Modules in one room that import each other are reported, even dynamically", () => {
    const modules = [
      module("one/A.ts", `import { b } from "./B.ts"\nexport const a = b`),
      module("one/B.ts", `export const b = () => import("./A.ts")`)
    ]
    assert.deepStrictEqual(lines(Rooms.oneWay(modules)), ["modules packages/a/src/one/A.ts:1"])
  })

  it("Modules at the package root are separate rooms", () => {
    const modules = [
      module("index.ts", `export * from "./one/A.ts"`),
      module("one/A.ts", `export * from "../Types.ts"`),
      module("Types.ts", `export type T = string`)
    ]
    assert.deepStrictEqual(Rooms.oneWay(modules), [])
  })

  it("A duplicate name missing from the list is reported, and a listed name with one declaration", () => {
    const named = (file: string, text: string) => parse(`packages/${file}`, text)
    const modules = [
      named("a/src/A.ts", `export interface Limits {}\nexport interface Options {}\nexport const limits = 1`),
      named("a/src/B.ts", `export interface Options {}\nexport const limits = 2\nexport { Limits } from "./A.ts"`),
      named("b/src/C.ts", `const a = 1\nexport class Limits {}\ninterface Only {}\nexport const Only = 1`),
      named("promise/src/D.ts", `export interface Limits {}`)
    ]
    const found = Names.meanings(modules, { Options: "a convention", Only: "no reason any more" })
    assert.deepStrictEqual(lines(found), ["homonyms packages/b/src/C.ts:2", "homonyms scripts/house/names.ts:1"])
  })

  it("Phrases that read like a translation are counted in comments and titles", () => {
    const text = `/** Whether it ends. */\n// undefined where it ended\nit("A thing of its own", () => {})\nconst x = "those of"\n`
    assert.strictEqual(Language.inModule(module("A.ts", text)), 3)
    assert.strictEqual(Language.inModule(module("A.ts", `/** True if it ended. */`)), 0)
  })

  it("Phrases in a document are counted outside its code", () => {
    assert.strictEqual(Language.inDocument("It gives the name.\n```ts\n// gives the\n```\n`those of` is code."), 1)
  })

  it.each([
    ["packages/a/README.md", 10, 70],
    ["ARCHITECTURE.md", 150, 250]
  ] as const)("%s with fewer than %i or more than %i lines is reported", (file, least, most) => {
    const found = (count: number) => lines(Language.lengths(file, "line\n".repeat(count)))
    for (const count of [least - 1, most + 1]) assert.deepStrictEqual(found(count), [`lengths ${file}:1`], `${count}`)
    for (const count of [least, most]) assert.deepStrictEqual(found(count), [], `${count}`)
  })

  it("A test named after a module in another room is reported", () => {
    const sources = ["room/A.ts", "other/A.ts", "B.ts"].map((file) => module(file, ""))
    const tests = ["room/A.test.ts", "A.model.test.ts", "perf/A.test.ts", "B.test.ts", "room/B.test.ts", "any.test.ts"]
    const found = Rooms.mirrored(
      sources,
      tests.map((file) => ({ file: `packages/a/test/${file}` }))
    )
    assert.deepStrictEqual(lines(found), [
      "mirror packages/a/test/A.model.test.ts:1",
      "mirror packages/a/test/room/B.test.ts:1"
    ])
  })

  it("A public value without a docstring is reported, except overloads and internal ones", () => {
    const text = [
      "/** A module. */",
      'import "b"',
      "/** Documented. */",
      "export const a = 1",
      "export const b = 2",
      "/** Two ways. */",
      "export function c(x: string): void",
      "export function c(x: number): void",
      "export function c(): void {}",
      "export type T = string"
    ].join("\n")
    const modules = [module("A.ts", text), module("B.ts", "export const hidden = 1")]
    const manifest = { exports: { "./A": "./src/A.ts", "./internal/B": "./src/B.ts" } }
    const found = Manifest.docstrings("packages/a", manifest, modules)
    assert.deepStrictEqual(lines(found), ["docstrings packages/a/src/A.ts:5"])
    assert.deepStrictEqual(Manifest.docstrings("packages/a", { ...manifest, private: true }, modules), [])
  })

  it("Time and memory are reported in a test outside the folder for them", () => {
    const clock = ["performance", "now"].join(".")
    const found = ["A.test.ts", "perf/A.test.ts", "support/clock.ts"].flatMap((file) =>
      Patterns.time(parse(`packages/a/test/${file}`, `const began = ${clock}()`))
    )
    assert.deepStrictEqual(lines(found), ["time packages/a/test/A.test.ts:1"])
  })

  it("A list of methods outside the method table is reported", () => {
    const text = `const asking = new Set(["tools/call", "prompts/get"])\nconst one = ["tools/list", "name"]\n`
    assert.deepStrictEqual(lines(Patterns.methods(module("A.ts", text))), ["methods packages/a/src/A.ts:1"])
    const table = parse("packages/protocol/src/model/MethodInfo.ts", text)
    assert.deepStrictEqual(Patterns.methods(table), [])
  })

  it("A function assigned to a property is reported", () => {
    const text = `this.a = () => 1\nconst b = () => 1\nthis.b = b\nc.d ??= function () {}\n`
    const found = [1, 4].map((line) => `assigned packages/a/src/A.ts:${line}`)
    assert.deepStrictEqual(lines(Patterns.assigned(module("A.ts", text))), found)
  })

  it("A fixed number of scheduler turns is reported", () => {
    const turn = ["Effect", "yieldNow"].join(".")
    const text = `yield* ${turn}\nconst settle = Effect.repeat(${turn}, { times: 60 })\n${turn}.pipe(Effect.repeat({ times: 2 }))`
    const found = [2, 3].map((line) => `turns packages/a/src/A.ts:${line}`)
    assert.deepStrictEqual(lines(Patterns.turns(module("A.ts", text))), found)
  })

  it("Exports that are patterns or name no file are reported", () => {
    const manifest = {
      exports: { "./A": "./src/A.ts", "./*": "./src/*.ts", "./B": "./src/B.ts", "./internal/*": null }
    }
    const found = Manifest.exportsOf("packages/a/package.json", manifest, (path) => path === "packages/a/src/A.ts")
    assert.deepStrictEqual(
      found.map(({ text }) => text),
      [
        `exports "./*": a pattern makes modules public unseen; list each`,
        `exports "./B": there is no ./src/B.ts`,
        `exports "./internal/*": a pattern makes modules public unseen; list each`
      ]
    )
    assert.deepStrictEqual(
      Manifest.exportsOf("packages/a/package.json", { ...manifest, private: true }, () => false),
      []
    )
  })

  it("Findings up to the listed number per file and rule are allowed, and fewer are reported", () => {
    const findings = [finding("a.ts"), finding("a.ts"), finding("b.ts")]
    assert.deepStrictEqual(House.count(findings), { "a.ts": { turns: 2 }, "b.ts": { turns: 1 } })
    assert.deepStrictEqual(House.beyond(findings, { "a.ts": { turns: 2 } }), [finding("b.ts")])
    assert.deepStrictEqual(House.beyond(findings, { "a.ts": { turns: 1 }, "b.ts": { turns: 1 } }), findings.slice(0, 2))
    assert.deepStrictEqual(House.loose(findings, { "a.ts": { turns: 3 }, "b.ts": { turns: 1 } }), ["a.ts"])
    assert.deepStrictEqual(House.loose([], { "gone.ts": { turns: 1 } }), ["gone.ts"])
  })
})
