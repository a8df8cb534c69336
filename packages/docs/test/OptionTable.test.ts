/** Tables of options in the API reference. */
import { assert, describe, it } from "@effect/vitest"
import { parseSync } from "oxc-parser"
import { optionTable, splitDefault } from "../src/OptionTable.ts"

const tableOf = (text: string): string | undefined => {
  const { comments, program } = parseSync("options.d.ts", text)
  const [statement] = program.body
  return statement && optionTable({ comments, text }, statement, (comment) => comment)
}

describe("OptionTable", () => {
  it("An options interface becomes a table with types and defaults", () => {
    const table = tableOf(`export interface Options {
      /** Name of the server. */
      readonly name: string
      /**
       * How long to wait
       * for an answer. Default 5 seconds; 0 never waits.
       */
      readonly timeout?: Duration.Input | undefined
      /** Sink of the lines. */
      readonly to?: "file" | "memory"
    }`)
    assert.deepStrictEqual(table?.split("\n"), [
      "| Option | Type | Default | Meaning |",
      "|---|---|---|---|",
      "| `name` | `string` | required | Name of the server. |",
      "| `timeout` | `Duration.Input` | 5 seconds | How long to wait for an answer. 0 never waits. |",
      '| `to` | `"file" \\| "memory"` |  | Sink of the lines. |'
    ])
  })

  it("The table names the interfaces it inherits options from", () => {
    const table = tableOf(
      "export interface Options extends Outbox.Options, Pick<Limits, 'size'> { readonly path?: string }"
    )
    assert.include(table, "\n\nAlso has the options of `Outbox.Options` and `Pick<Limits, 'size'>`.")
  })

  it("Interfaces with methods, examples or mostly required members keep their code", () => {
    assert.isUndefined(tableOf("export interface Client { readonly call?: string; close(): void }"))
    assert.isUndefined(tableOf("export interface Client { /** Calls. @example x */ readonly call?: string }"))
    assert.isUndefined(
      tableOf("export interface Row { readonly id: string; readonly size: number; readonly at?: number }")
    )
    assert.isUndefined(tableOf("export declare const options: { readonly call?: string }"))
  })

  for (const [comment, meaning, value] of [
    ["Path of the page. Default `/console`.", "Path of the page.", "`/console`"],
    [
      "Host of the URI. Default `127.0.0.1`; some servers accept only `localhost`.",
      "Host of the URI. Some servers accept only `localhost`.",
      "`127.0.0.1`"
    ],
    ["Default: `response.json`.", "", "`response.json`"],
    ["Whether to cache. Default: 0, no caching. Used twice.", "Whether to cache. Used twice.", "0, no caching"],
    ["The Default value is kept.", "The Default value is kept.", undefined]
  ] as const)
    it(`The default is split from "${comment}"`, () => {
      assert.deepStrictEqual(splitDefault(comment), [meaning, value])
    })
})
