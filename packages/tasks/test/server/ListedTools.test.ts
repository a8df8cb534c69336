/** Which callers see a tool that only runs as a task. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Tasks from "../../src/Tasks.ts"
import { connect as connectModern, declared, serve, undeclared } from "../support/client.ts"
import { connect } from "../support/session.ts"
import { tool } from "../support/tools.ts"

const done = () => Effect.succeed("Done")
const features = Layer.mergeAll(tool("only", "required", done), tool("either", "optional", done), Tasks.layer())
const namesOf = (result: { readonly [key: string]: any }) =>
  result["tools"].map(({ name }: { readonly name: string }) => name)

it.effect("A task-only tool is listed for callers that support tasks", () =>
  Effect.gen(function* () {
    const server = yield* serve(features)
    for (const [version, names] of [
      ["2024-11-05", ["either"]],
      ["2025-03-26", ["either"]],
      ["2025-06-18", ["either"]],
      ["2025-11-25", ["only", "either"]]
    ] as const) {
      const client = yield* connect(server, { version })
      assert.deepStrictEqual(namesOf(yield* client.request("tools/list")), names, version)
    }
    const modern = yield* connectModern(server)
    assert.deepStrictEqual(namesOf(yield* modern.request("tools/list", {}, declared)), ["only", "either"])
    assert.deepStrictEqual(namesOf(yield* modern.request("tools/list", {}, undeclared)), ["either"])
  })
)

it.effect(
  "A tool list that depends on client declarations is private, regardless of the hint",
  () =>
    Effect.gen(function* () {
      const caching: McpServer.Options<never, never>["caching"] = { tools: { timeToLive: "1 minute", scope: "public" } }
      const server = yield* serve(features, { caching, pageSize: 1 })
      const client = yield* connectModern(server)
      for (const capabilities of [declared, undeclared]) {
        const first = yield* client.request("tools/list", {}, capabilities)
        const second = yield* client.request("tools/list", { cursor: first["nextCursor"] }, capabilities)
        for (const page of [first, second]) {
          assert.deepStrictEqual([page["cacheScope"], page["ttlMs"]], ["private", 60_000])
        }
      }
      const either = yield* serve(Layer.merge(tool("either", "optional", done), Tasks.layer()), { caching })
      const other = yield* connectModern(either)
      assert.strictEqual((yield* other.request("tools/list"))["cacheScope"], "public")
    }),
  verifies("caching.pages.same-scope", "caching.public.shared")
)
