/** A smoke test of our client with another server: a call, its progress and a question. */
import type { McpClient } from "@effect-mcp/client"
import type { Version } from "@effect-mcp/protocol/Revision"
import { assert, layer } from "@effect/vitest"
import { Effect, type Layer, Stream } from "effect"
import { call, client, Host, textOf } from "./our-client.ts"

export interface Smoke {
  readonly version: Version
  readonly add: string
  readonly follow: { readonly tool: string; readonly args?: { readonly [name: string]: unknown } }
  /** A tool that asks for a name, and its greeting of Ada. */
  readonly greet: { readonly tool: string; readonly says: RegExp }
  /** Values of an argument that is sent in a header. */
  readonly route?: ReadonlyArray<string>
}

export const smoke = <E>(
  name: string,
  connected: Layer.Layer<McpClient.McpClient | Host, E>,
  { add, follow, greet, route = [], version }: Smoke
) =>
  layer(connected, { excludeTestServices: true })(`Our client reaches ${name} in ${version}`, (it) => {
    it.effect("Our client calls a tool, follows a call and answers a question", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const { answers, dropped } = yield* Host
        assert.strictEqual(mcp.revision.version, version)
        assert.match(JSON.stringify(yield* mcp.callToolByName(add, { a: 1, b: 2 })), /\b3\b/)
        const events = yield* Stream.runCollect(mcp.callToolByNameStream(follow.tool, follow.args))
        assert.deepStrictEqual(
          events.map((event) => (event._tag === "Progress" ? event.progress : event._tag)),
          [1, 2, 3, "Result"]
        )
        answers.form = () => ({ action: "accept", content: { name: "Ada", age: 36 } })
        assert.match(textOf(yield* mcp.callToolByName(greet.tool)), greet.says)
        for (const region of route) assert.strictEqual(yield* call("route", { region }), `Routed to ${region}.`)
        assert.deepStrictEqual(dropped, [])
      })
    )
  })

/** The fixtures made with the SDKs, in sessions. */
export const sdk: Smoke = {
  version: "2025-11-25",
  add: "add",
  follow: { tool: "progress" },
  greet: { tool: "ask", says: /Ada/ }
}

/** The fixture made with the SDK v2, in 2026-07-28. */
export const modern: Smoke = { ...sdk, version: "2026-07-28", greet: { tool: "greet", says: /^Hello, Ada!/ } }

/** The reference server published by the protocol's project. */
export const everything: Smoke = {
  version: "2025-11-25",
  add: "get-sum",
  follow: { tool: "trigger-long-running-operation", args: { duration: 0.3, steps: 3 } },
  greet: { tool: "trigger-elicitation-request", says: /./ }
}
