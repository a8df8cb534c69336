/** A request whose connection is lost is sent again if that is safe. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { all, collect, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { broken, contents, empty, fork, hangingFirst, recovering, refused, tool, until } from "../support/recovering.ts"
import type * as Scripted from "../support/scripted.ts"

describe.each(all)("%s requests on a lost connection", (version) => {
  it.effect("A request that may have run fails and is never retried", () =>
    Effect.gen(function* () {
      let runs = 0
      const { client, server, tries } = yield* recovering({
        version,
        script: () => ({
          answers: {
            "tools/call": () =>
              Effect.andThen(
                Effect.sync(() => runs++),
                Effect.never
              )
          }
        })
      })
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* quiesce
      server(0).cut()
      const error = yield* Fiber.join(call)
      assert.strictEqual(error._tag, "Closed")
      assert.deepInclude(error, { cause: broken })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(runs, 1)
      assert.strictEqual(tries(), 1)
    })
  )

  const reads: ReadonlyArray<
    readonly [string, object, (client: McpClient.McpClient["Service"]) => Effect.Effect<unknown, McpClient.ClientError>]
  > = [
    ["tools/list", { tools: [], ...empty }, (client) => collect(client.listTools)],
    ["prompts/list", { prompts: [], ...empty }, (client) => collect(client.listPrompts)],
    ["resources/list", { resources: [], ...empty }, (client) => collect(client.listResources)],
    [
      "resources/templates/list",
      { resourceTemplates: [], ...empty },
      (client) => collect(client.listResourceTemplates)
    ],
    ["resources/read", contents, (client) => client.readResource("a:b")],
    ["prompts/get", { messages: [], resultType: "complete" }, (client) => client.getPromptByName("p")],
    [
      "completion/complete",
      { completion: { values: [] }, resultType: "complete" },
      (client) => client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
    ]
  ]
  it.effect.each(reads)("A client retries a request for %s", ([method, answer, ask]) =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({ version, script: hangingFirst({ [method]: () => answer }) })
      const asked = yield* fork(ask(client))
      yield* quiesce
      assert.strictEqual(server(0).requests(method).length, 1)
      server(0).cut()
      yield* Fiber.join(asked)
      assert.strictEqual(server(1).requests(method).length, 1)
    })
  )

  it.effect("An idempotent request is retried if the server's annotations are trusted", () =>
    Effect.gen(function* () {
      const annotated = (annotations: object, name: string) => ({ name, inputSchema: { type: "object" }, annotations })
      const tools = [
        annotated({ idempotentHint: true }, "put"),
        annotated({ readOnlyHint: true }, "get"),
        annotated({ idempotentHint: false }, "pay")
      ]
      const script = (n: number): Scripted.Script => ({
        answers: {
          "tools/list": () => ({ tools, ...empty }),
          "tools/call": () => (n === 0 ? Effect.never : tool)
        }
      })
      const outcome = (trustAnnotations: boolean) =>
        Effect.gen(function* () {
          const { client, server } = yield* recovering({ version, script }, { trustAnnotations })
          yield* collect(client.listTools)
          const calls = yield* Effect.forEach(["put", "get", "pay"], (name) =>
            fork(Effect.exit(client.callToolByName(name)))
          )
          yield* quiesce
          server(0).cut()
          return yield* Effect.map(Fiber.joinAll(calls), (exits) => exits.map(Exit.isSuccess))
        })
      assert.deepStrictEqual(yield* outcome(true), [true, true, false])
      assert.deepStrictEqual(yield* outcome(false), [false, false, false])
    })
  )

  it.effect("A safe request is retried only as often as the options allow", () =>
    Effect.gen(function* () {
      const { client, opened } = yield* recovering(
        { version, script: () => ({ answers: { "resources/read": () => Effect.never } }) },
        { reconnect: { resends: 2 } }
      )
      const read = yield* fork(Effect.flip(client.readResource("a:b")))
      for (let n = 0; n < 3; n++) {
        yield* until(() => opened[n]?.requests("resources/read").length === 1)
        opened[n]?.cut()
        yield* quiesce
        yield* TestClock.adjust("1 second")
      }
      assert.deepInclude(yield* Fiber.join(read), { _tag: "Closed", cause: broken })
      assert.deepStrictEqual(
        opened.map((server) => server.requests("resources/read").length),
        [1, 1, 1]
      )
    })
  )

  it.effect("A request is not reported as unsent if the last server may have seen it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering(
        {
          version,
          script: (n) => (n === 0 ? { answers: { "resources/read": () => Effect.never } } : refused)
        },
        { reconnect: { attempts: 1 } }
      )
      const read = yield* fork(Effect.flip(client.readResource("a:b")))
      yield* quiesce
      server(0).cut()
      const error = yield* Fiber.join(read)
      assert.isTrue(error._tag === "Closed" && error.unsent !== true)
    })
  )
})

it.effect("A cached 2026-07-28 answer is dropped with its connection", () =>
  Effect.gen(function* () {
    const { client, server } = yield* recovering({
      version: Modern.version,
      script: () => ({ answers: { "resources/read": () => ({ ...contents, ttlMs: 3_600_000 }) } })
    })
    yield* client.readResource("a:b")
    yield* client.readResource("a:b")
    assert.strictEqual(server(0).requests("resources/read").length, 1)
    server(0).cut()
    yield* quiesce
    yield* client.readResource("a:b")
    yield* client.readResource("a:b")
    assert.strictEqual(server(1).requests("resources/read").length, 1)
  })
)
