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

describe("rules of the house", () => {
  it("The rules of the house report two rooms that import each other, also where only types cross", () => {
    const modules = [
      module("one/A.ts", `import type { B } from "../two/B.ts"\nexport interface A { b: B }`),
      module("two/B.ts", `export interface B {}`),
      module("two/C.ts", `export * from "../one/D.ts"`),
      module("one/D.ts", `export const d = 1`)
    ]
    assert.deepStrictEqual(lines(Rooms.oneWay(modules)), ["rooms packages/a/src/one:1"])
    assert.deepStrictEqual(Rooms.oneWay(modules.slice(0, 2)), [])
  })

  it("The rules of the house report modules of one room that import each other, also by a dynamic import", () => {
    const modules = [
      module("one/A.ts", `import { b } from "./B.ts"\nexport const a = b`),
      module("one/B.ts", `export const b = () => import("./A.ts")`)
    ]
    assert.deepStrictEqual(lines(Rooms.oneWay(modules)), ["modules packages/a/src/one/A.ts:1"])
  })

  it("The rules of the house treat modules at the package's root as rooms of their own", () => {
    const modules = [
      module("index.ts", `export * from "./one/A.ts"`),
      module("one/A.ts", `export * from "../Types.ts"`),
      module("Types.ts", `export type T = string`)
    ]
    assert.deepStrictEqual(Rooms.oneWay(modules), [])
  })

  it("The rules of the house report an exported name that is banned, not a local name", () => {
    const found = Names.names(module("A.ts", `const One = 1\nexport class Asked {}\nexport const asked = One`))
    assert.deepStrictEqual(lines(found), ["names packages/a/src/A.ts:2"])
  })

  it("The rules report a name that two modules declare and no list allows, and a name of the list with one declaration", () => {
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

  it("Language counts phrases that read like a translation in comments and titles", () => {
    const text = `/** Whether it ends. */\n// undefined where it ended\nit("A thing of its own", () => {})\nconst x = "those of"\n`
    assert.strictEqual(Language.inModule(module("A.ts", text)), 3)
    assert.strictEqual(Language.inModule(module("A.ts", `/** True if it ended. */`)), 0)
  })

  it("Language counts phrases of a document outside its code", () => {
    assert.strictEqual(Language.inDocument("It gives the name.\n```ts\n// gives the\n```\n`those of` is code."), 1)
  })

  it.each([
    ["packages/a/README.md", 10, 60],
    ["ARCHITECTURE.md", 150, 250]
  ] as const)("The rules of the house report %s of fewer than %i or more than %i lines", (file, least, most) => {
    const found = (count: number) => lines(Language.lengths(file, "line\n".repeat(count)))
    for (const count of [least - 1, most + 1]) assert.deepStrictEqual(found(count), [`lengths ${file}:1`], `${count}`)
    for (const count of [least, most]) assert.deepStrictEqual(found(count), [], `${count}`)
  })

  it("The rules of the house report more than five modules beside the index that lie in no room", () => {
    const root = ["A.ts", "B.ts", "C.ts", "D.ts", "E.ts", "index.ts", "room/F.ts"].map((file) => module(file, ""))
    assert.deepStrictEqual(Rooms.looseModules(root), [])
    assert.deepStrictEqual(lines(Rooms.looseModules([...root, module("G.ts", "")])), ["loose packages/a/src/A.ts:1"])
  })

  it("The rules of the house report a test that is named after a module and lies in another room", () => {
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

  it("The rules of the house report a public value without a docstring, neither an overload nor an internal one", () => {
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

  it("The rules of the house report time and memory in a test, unless it lies in the folder for those", () => {
    const clock = ["performance", "now"].join(".")
    const found = ["A.test.ts", "perf/A.test.ts", "support/clock.ts"].flatMap((file) =>
      Patterns.time(parse(`packages/a/test/${file}`, `const began = ${clock}()`))
    )
    assert.deepStrictEqual(lines(found), ["time packages/a/test/A.test.ts:1"])
  })

  it("The rules of the house report a list of methods outside of the table of methods", () => {
    const text = `const asking = new Set(["tools/call", "prompts/get"])\nconst one = ["tools/list", "name"]\n`
    assert.deepStrictEqual(lines(Patterns.methods(module("A.ts", text))), ["methods packages/a/src/A.ts:1"])
    const table = parse("packages/protocol/src/model/MethodInfo.ts", text)
    assert.deepStrictEqual(Patterns.methods(table), [])
  })

  it("The rules of the house report a function that is written in an assignment to a property", () => {
    const text = `this.a = () => 1\nconst b = () => 1\nthis.b = b\nc.d ??= function () {}\n`
    const found = [1, 4].map((line) => `assigned packages/a/src/A.ts:${line}`)
    assert.deepStrictEqual(lines(Patterns.assigned(module("A.ts", text))), found)
  })

  it("The rules of the house report a fixed number of scheduler turns", () => {
    const turn = ["Effect", "yieldNow"].join(".")
    const text = `yield* ${turn}\nconst settle = Effect.repeat(${turn}, { times: 60 })\n${turn}.pipe(Effect.repeat({ times: 2 }))`
    const found = [2, 3].map((line) => `turns packages/a/src/A.ts:${line}`)
    assert.deepStrictEqual(lines(Patterns.turns(module("A.ts", text))), found)
  })

  it("The house rules report exports that are patterns or name no file", () => {
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

  it("The rules allow as many findings of a file and rule as the list has, and say when there are fewer", () => {
    const findings = [finding("a.ts"), finding("a.ts"), finding("b.ts")]
    assert.deepStrictEqual(House.count(findings), { "a.ts": { turns: 2 }, "b.ts": { turns: 1 } })
    assert.deepStrictEqual(House.beyond(findings, { "a.ts": { turns: 2 } }), [finding("b.ts")])
    assert.deepStrictEqual(House.beyond(findings, { "a.ts": { turns: 1 }, "b.ts": { turns: 1 } }), findings.slice(0, 2))
    assert.deepStrictEqual(House.loose(findings, { "a.ts": { turns: 3 }, "b.ts": { turns: 1 } }), ["a.ts"])
    assert.deepStrictEqual(House.loose([], { "gone.ts": { turns: 1 } }), ["gone.ts"])
  })
})
