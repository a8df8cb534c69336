/** Errors repeat names and URIs from the client only up to the length of an excerpt. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { maxLength } from "@effect-mcp/protocol/Excerpt"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { connect, everyVersion, serve } from "../support/raw.ts"

const features = Layer.mergeAll(
  Tools.layer(Tool.make("t", { description: "" }), () => Effect.succeed("")),
  Prompts.layer(Prompt.make("p", { arguments: { x: Schema.String } }), () => Effect.succeed(""), {
    complete: { x: () => Effect.succeed([]) }
  }),
  Resources.layerTemplate({ uriTemplate: "r://{x}", name: "r", complete: { x: () => Effect.succeed([]) } }, () =>
    Effect.succeed("")
  )
)
const long = "n".repeat(100_000)
const complete = (ref: object, name: string) => ["completion/complete", { ref, argument: { name, value: "" } }] as const
const requests = [
  ["tools/call", { name: long }],
  ["prompts/get", { name: long }],
  ["resources/read", { uri: `r:${long}` }],
  complete({ type: "ref/prompt", name: long }, "x"),
  complete({ type: "ref/prompt", name: "p" }, long),
  complete({ type: "ref/resource", uri: long }, "x"),
  complete({ type: "ref/resource", uri: "r://{x}" }, long),
  [long, {}]
] as const

describe("Error messages", () => {
  for (const version of everyVersion()) {
    it.effect(`Error messages quote only the start of a name or URI (${version})`, () =>
      Effect.gen(function* () {
        const client = yield* connect(yield* serve({ features }), { version })
        for (const [method, params] of requests) {
          const { message } = yield* client.refused(method, params)
          assert.isBelow(message.length, maxLength + 100, `${method.slice(0, 50)} ${message.slice(0, 50)}`)
        }
      })
    )
  }

  it.effect("Error messages quote only the start of a version", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* serve({ features }), { version: "2026-07-28" })
      const meta = { "io.modelcontextprotocol/protocolVersion": long }
      const error = yield* client.refused("tools/list", { _meta: meta })
      assert.isBelow(JSON.stringify(error).length, 3 * maxLength + 500)
      const old = yield* connect(yield* serve({ features, revisions: ["2026-07-28"] }), { handshake: false })
      const refused = yield* old.refused("initialize", {
        protocolVersion: long,
        capabilities: {},
        clientInfo: { name: "c", version: "0" }
      })
      assert.isBelow(JSON.stringify(refused).length, 3 * maxLength + 500)
    })
  )
})
