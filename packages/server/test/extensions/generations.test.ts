/**
 * One extension in two generations. In older revisions it is a capability with methods of the same names in another form.
 */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Version } from "@effect-mcp/protocol/Revision"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { open } from "../support/modern.ts"
import { declaring, id } from "../support/notes.ts"
import { connect, everyVersion, serve, session } from "../support/raw.ts"

const method = "com.example/notes/get"

const New = Extension.make(id, {
  revisions: ["2026-07-28"],
  requests: { get: Extension.request(method, { params: { id: Schema.Int }, result: { text: Schema.String } }) }
})

const generation = (revisions: ReadonlyArray<Version>) =>
  Extension.make(id, {
    revisions,
    capability: "tasks",
    undeclared: "served",
    serverSettings: { list: Schema.optionalKey(Schema.Struct({})) },
    requests: {
      get: Extension.request(method, {
        params: { name: Schema.String },
        result: { note: Schema.Struct({ text: Schema.String }) }
      })
    }
  })
const Old = generation(["2025-11-25"])

const served = Extensions.layer(New, { requests: { get: ({ id }) => Effect.succeed({ text: `new ${id}` }) } })
const serving = (old: typeof Old) =>
  Extensions.layer(old, {
    settings: ({ principal }) => (principal.subject === undefined ? {} : { list: {} }),
    requests: { get: ({ name }) => Effect.succeed({ note: { text: `old ${name}` } }) }
  })
const both = Layer.merge(served, serving(Old))

const named = { subject: "ada", scopes: [], claims: {} }

describe("Two generations of an extension", () => {
  it.effect("Each generation of an extension serves only its own revisions", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: both })
      const modern = yield* connect(server, { version: "2026-07-28", capabilities: declaring("2026-07-28") })
      assert.deepStrictEqual(yield* modern.request(method, { id: 1 }), { text: "new 1" })
      assert.strictEqual((yield* modern.refused(method, { name: "a" })).code, McpError.InvalidParams)
      const core = yield* connect(server, { version: "2025-11-25" })
      assert.deepStrictEqual(yield* core.request(method, { name: "a" }), { note: { text: "old a" } })
      assert.strictEqual((yield* core.refused(method, { id: 1 })).code, McpError.InvalidParams)
      for (const version of everyVersion().filter((version) => version < "2025-11-25")) {
        const client = yield* connect(server, { version, capabilities: declaring(version) })
        assert.strictEqual((yield* client.refused(method, { id: 1 })).code, McpError.MethodNotFound, version)
      }
    })
  )

  it.effect("Each generation of an extension is declared only in its own revisions", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: both })
      const tasksOf = (options: Parameters<typeof connect>[1]) =>
        Effect.map(connect(server, options), ({ initialized: { capabilities } }) => [
          capabilities.tasks,
          capabilities.extensions ?? capabilities.experimental
        ])
      assert.deepStrictEqual(yield* tasksOf({ version: "2025-11-25" }), [{}, undefined])
      assert.deepStrictEqual(yield* tasksOf({ version: "2025-11-25", principal: named }), [{ list: {} }, undefined])
      assert.deepStrictEqual(yield* tasksOf({ version: "2025-06-18" }), [undefined, undefined])
      assert.deepStrictEqual(yield* tasksOf({ version: "2026-07-28" }), [undefined, { [id]: {} }])
    })
  )

  it.effect("server/discover stays public if only the older generation depends on the caller", () =>
    Effect.gen(function* () {
      const caching: McpServer.Options<never, never>["caching"] = {
        discover: { timeToLive: "1 second", scope: "public" }
      }
      const client = yield* open(both, {}, { caching })
      assert.strictEqual((yield* client.request("server/discover"))["cacheScope"], "public")
      const varying = Extensions.layer(Extension.make("com.example/other"), { settings: () => ({}) })
      const other = yield* open(Layer.merge(both, varying), {}, { caching })
      assert.strictEqual((yield* other.request("server/discover"))["cacheScope"], "private")
    })
  )

  it.effect("A contract lists only the newest of two generations", () =>
    Effect.gen(function* () {
      const { contract } = yield* serve({ features: both })
      const { extensions } = yield* contract()
      assert.deepStrictEqual(
        extensions.map(({ id, requests }) => [id, requests[0]?.params?.["required"]]),
        [[id, ["id"]]]
      )
      const older = yield* serve({ features: both, revisions: ["2025-11-25"] })
      assert.lengthOf((yield* older.contract()).extensions, 1)
    })
  )

  it.effect("Two generations of an extension in one revision are a defect", () =>
    Effect.gen(function* () {
      const overlapping = generation(["2025-11-25", "2026-07-28"])
      const exit = yield* Effect.exit(session(Layer.merge(served, serving(overlapping))))
      assert.include(String(exit), `The extension "${id}" is already registered`)
    })
  )
})
