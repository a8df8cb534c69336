/** Suites for an official client with the reference server: every feature, a smoke test, small pages. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { toolNames } from "./names.ts"
import { connect, type Connector, Official } from "./official.ts"
import { asking } from "./official/asking.ts"
import { failure, using } from "./official/calls.ts"
import { reading } from "./official/reading.ts"
import { smoke as least } from "./official/smoke.ts"
import { tools } from "./official/tools.ts"

const options = { excludeTestServices: true }

type Connected = Effect.Effect<Official["Service"], never, Scope.Scope>

/** Every feature. `notFound` is the code that the client reports when the server answers -32002. */
export const suite = (name: string, over: string, connected: Connected, notFound: number) =>
  layer(Layer.effect(Official, connected), options)(
    `${name} drives the reference server over ${over} in 2025-11-25`,
    (it) => {
      tools(it, name)
      reading(it, notFound)
      asking(it)
    }
  )

/** A list, a call with progress, and a question. */
export const smoke = (name: string, over: string, connected: Connected) =>
  layer(Layer.effect(Official, connected), options)(
    `${name} reaches the reference server over ${over} in 2025-11-25`,
    least
  )

/** Lists in pages of five. `turnsPages`: whether the client fetches all pages when asked for the first. */
export const pages = (name: string, connector: Connector, turnsPages: boolean) =>
  layer(Layer.effect(Official, connect(connector, ["--page-size", "5"])), options)(
    `${name} drives the reference server over stdio in small pages`,
    (it) => {
      it.effect(
        "The SDK client combines the pages into the full list",
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
    }
  )
