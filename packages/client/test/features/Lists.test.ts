import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { collect, connected, all, since } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import type { Answer } from "../support/scripted.ts"

const tool = (name: string) => ({ name, inputSchema: { type: "object" } })

/** Pages by the cursor that leads to them. */
const paged =
  (key: string, pages: { readonly [cursor: string]: readonly [items: ReadonlyArray<object>, next?: string] }): Answer =>
  ({ cursor }) => {
    const [items, nextCursor] = pages[cursor === undefined ? "first" : `at ${cursor as string}`] ?? []
    return { [key]: items, ...(nextCursor === undefined ? undefined : { nextCursor }) }
  }

describe.each(all)("Lists over %s", (version) => {
  it.effect(
    "A list fetches its pages automatically, whatever the cursors",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({
          version,
          answers: {
            "tools/list": paged("tools", {
              first: [[tool("a"), tool("b")], ""],
              "at ": [[], ' {"x": 1} '],
              'at  {"x": 1} ': [[tool("c")], "0"],
              "at 0": [[tool("d")]]
            })
          }
        })
        assert.deepStrictEqual(
          (yield* collect(client.listTools)).map(({ name }) => name),
          ["a", "b", "c", "d"]
        )
        assert.deepStrictEqual(
          server.requests("tools/list").map(({ params }) => params?.cursor),
          [undefined, "", ' {"x": 1} ', "0"]
        )
      }),
    verifies(
      "pagination.client.no-fixed-size",
      "pagination.client.end",
      "pagination.client.both-flows",
      "pagination.client.opaque-format",
      "pagination.client.opaque-unmodified",
      "pagination.cursor.empty"
    )
  )

  it.effect(
    "Every feature has a list",
    () =>
      Effect.gen(function* () {
        const { client } = yield* connected({
          version,
          answers: {
            "prompts/list": paged("prompts", { first: [[{ name: "p" }], "2"], "at 2": [[{ name: "q" }]] }),
            "resources/list": paged("resources", { first: [[{ uri: "a:b", name: "r" }]] }),
            "resources/templates/list": paged("resourceTemplates", { first: [[{ uriTemplate: "a:{b}", name: "t" }]] })
          }
        })
        assert.deepStrictEqual(
          (yield* collect(client.listPrompts)).map(({ name }) => name),
          ["p", "q"]
        )
        assert.deepStrictEqual(yield* collect(client.listResources), [{ uri: "a:b", name: "r" }])
        assert.deepStrictEqual(yield* collect(client.listResourceTemplates), [{ uriTemplate: "a:{b}", name: "t" }])
      }),
    verifies("prompts.list.client-paginates")
  )

  it.effect("A list fetches only the pages that are pulled", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({
        version,
        answers: { "tools/list": paged("tools", { first: [[tool("a")], "2"], "at 2": [[tool("b")]] }) }
      })
      assert.strictEqual((yield* collect(Stream.take(client.listTools, 1))).length, 1)
      assert.strictEqual(server.requests("tools/list").length, 1)
    })
  )

  it.effect(
    "A list starts at its first page on every run",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({
          version,
          answers: { "tools/list": paged("tools", { first: [[tool("a")], "2"], "at 2": [[tool("b")]] }) }
        })
        yield* collect(client.listTools)
        assert.strictEqual((yield* collect(client.listTools)).length, 2)
        assert.isUndefined(server.requests("tools/list")[2]?.params?.cursor)
      }),
    verifies("pagination.client.opaque-not-persisted", "caching.pages.snapshot")
  )

  it.effect("A list with a repeated cursor fails with a typed error", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({
        version,
        answers: {
          "tools/list": paged("tools", { first: [[], "a"], "at a": [[], "b"], "at b": [[], "a"] })
        }
      })
      const error = yield* Effect.flip(Stream.runDrain(client.listTools))
      assert.strictEqual(error._tag, "InvalidResult")
      assert.include(error.message, "twice")
      assert.strictEqual(server.requests("tools/list").length, 3)
    })
  )

  it.effect("The repeated-cursor error truncates the cursor and strips terminal control characters", () =>
    Effect.gen(function* () {
      const cursor = `\u202e${"x".repeat(10_000)}`
      const { client } = yield* connected({
        version,
        answers: { "tools/list": () => ({ tools: [], nextCursor: cursor }) }
      })
      const { message } = yield* Effect.flip(Stream.runDrain(client.listTools))
      assert.include(message, String.raw`"\u202exxx`)
      assert.isBelow(message.length, 300)
    })
  )

  it.effect("A list with too many pages fails with a typed error", () =>
    Effect.gen(function* () {
      let page = 0
      const { client, server } = yield* connected(
        { version, answers: { "tools/list": () => ({ tools: [], nextCursor: `${++page}` }) } },
        { maxPages: 5 }
      )
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.listTools)))._tag, "InvalidResult")
      assert.strictEqual(server.requests("tools/list").length, 5)
    })
  )

  it.effect(
    "A list is not requested if the server did not declare it",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({ version, capabilities: {} })
        const requests: ReadonlyArray<readonly [string, Effect.Effect<unknown, { readonly _tag: string }>]> = [
          ["tools", Stream.runDrain(client.listTools)],
          ["tools", client.callToolByName("x")],
          ["prompts", Stream.runDrain(client.listPrompts)],
          ["prompts", client.getPromptByName("x")],
          ["resources", Stream.runDrain(client.listResources)],
          ["resources", client.readResource("a:b")],
          ["resources.subscribe", client.subscribeResource("a:b")],
          ["resources.subscribe", Stream.runDrain(client.watchResource("a:b"))],
          ["logging", client.setLogLevel("info")]
        ]
        for (const [capability, request] of requests) {
          const error = yield* Effect.flip(request)
          assert.strictEqual(error._tag, "CapabilityMissing")
          assert.strictEqual((error as any).capability, capability)
        }
        const before = version === Modern.version ? 1 : 2
        yield* client.ping
        assert.strictEqual(server.heard.length, before + 1)
      }),
    verifies(
      "lifecycle.operation.capabilities-respected",
      "prompts.capability.respected",
      "lifecycle.error.missing-capability"
    )
  )

  it.effect(
    "Completions can be empty or incomplete",
    () =>
      Effect.gen(function* () {
        const params = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "x" } } as const
        const completions: ReadonlyArray<object> = [
          { values: [] },
          { values: ["x1"], hasMore: true },
          { values: ["x1"], total: 7 },
          { values: ["x1"], total: 7, hasMore: true }
        ]
        let asked = 0
        const { client } = yield* connected({
          version,
          answers: { "completion/complete": () => ({ completion: completions[asked++] }) }
        })
        for (const completion of completions) {
          assert.deepStrictEqual(yield* client.complete(params), completion)
        }
      }),
    verifies("completion.client.partial-handled")
  )

  it.effect("A completion is requested if declared, and always in 2024-11-05", () =>
    Effect.gen(function* () {
      const values = ["x1", "x2"]
      const answers = { "completion/complete": () => ({ completion: { values } }) }
      const params = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "x" } } as const
      const { client } = yield* connected({ version, answers })
      assert.deepStrictEqual(yield* client.complete(params), { values })
      const silent = yield* connected({ version, capabilities: {}, answers })
      const outcome = yield* Effect.exit(silent.client.complete(params))
      assert.strictEqual(outcome._tag, version === "2024-11-05" ? "Success" : "Failure")
    })
  )
})

describe.each(since("2025-06-18"))("Completion over %s", (version) => {
  it.effect(
    "A completion request includes the known arguments",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({
          version,
          answers: { "completion/complete": () => ({ completion: { values: [] } }) }
        })
        const context = { arguments: { country: "Norway" } }
        yield* client.complete({
          ref: { type: "ref/prompt", name: "p" },
          argument: { name: "city", value: "Os" },
          context
        })
        assert.deepStrictEqual(server.requests("completion/complete")[0]?.params?.context, context)
      }),
    verifies("completion.client.context")
  )
})
