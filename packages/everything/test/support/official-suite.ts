/** Every feature of the reference server, as an official client sees it: one body for every such client. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { toolNames } from "./names.ts"
import { connect, type Connector, Official } from "./official.ts"
import { asking } from "./official/asking.ts"
import { failure, using } from "./official/calls.ts"
import { reading } from "./official/reading.ts"
import { tools } from "./official/tools.ts"

const options = { excludeTestServices: true }

export interface Traits {
  /** What its errors say when the server answers -32002. */
  readonly notFound: number
  /** Whether asking for the first page fetches all of them. */
  readonly turnsPages: boolean
}

export const suite = (name: string, connector: Connector, { notFound, turnsPages }: Traits) =>
  describe(`${name} drives the reference server over 2025-11-25`, () => {
    layer(Layer.effect(Official, connect(connector)), options)("over stdio", (it) => {
      tools(it, name)
      reading(it, notFound)
      asking(it)
    })

    layer(Layer.effect(Official, connect(connector, ["--page-size", "5"])), options)("in small pages", (it) => {
      it.effect(
        "The SDK client puts the pages together to the whole list",
        () =>
          Effect.gen(function* () {
            const first = yield* using((client) => client.listTools({}))
            const tools = yield* using((client) => client.allTools())
            assert.deepStrictEqual(
              tools.map(({ name }) => name),
              toolNames
            )
            assert.strictEqual(first.tools.length, turnsPages ? toolNames.length : 5)
            const invalid = yield* failure(using((client) => client.listTools({ cursor: "nonsense" })))
            assert.strictEqual(invalid.code, -32602)
          }),
        verifies("pagination.cursor.continues", "pagination.cursor.invalid")
      )
    })
  })
