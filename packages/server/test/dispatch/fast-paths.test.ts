/**
 * Fast paths return the same results as the general paths: handlers that complete synchronously, and lists cached as text.
 */
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema, Tracer } from "effect"
import { connect, everyVersion, serve } from "../support/raw.ts"

const Sum = Tool.make("sum", {
  description: "",
  input: { a: Schema.Finite },
  output: { sum: Schema.Finite },
  failure: Schema.String
})
const Said = Tool.make("said", { description: "", input: { a: Schema.Finite } })

type Ends = Effect.Effect<any, any>
const results: ReadonlyArray<Ends> = [
  Effect.succeed({ sum: 1 }),
  Effect.succeed({ sum: "no number" }),
  Effect.fail("declared"),
  Effect.fail(new Tools.ToolFailure({ message: "no" })),
  Effect.fail(McpError.invalidParams("no")),
  Effect.die(new Error("secret")),
  Effect.interrupt
]
const said: ReadonlyArray<Ends> = [
  Effect.succeed("text"),
  Effect.succeed({ type: "text", text: "block" }),
  Effect.succeed([{ type: "text", text: "blocks" }]),
  Effect.succeed({ content: [{ type: "video" }] }),
  Effect.fail(new Tools.ToolFailure({ message: "no" })),
  Effect.die("no")
]
/** The same outcome in other ways: complete at once, yield once, sleep, use a request service, or add a finalizer. */
const ways: ReadonlyArray<(end: Ends) => Ends> = [
  (end) => end,
  (end) => Effect.suspend(() => end),
  (end) => Effect.andThen(Effect.yieldNow, end),
  (end) => Effect.andThen(RequestContext, end) as Ends,
  (end) => Effect.andThen(Effect.forkChild(Effect.never, { startImmediately: true }), end),
  (end) =>
    Effect.andThen(
      Effect.addFinalizer(() => Effect.void),
      end
    ) as Ends
]
const around = Middleware.layer((_request, next) => next)

describe("Synchronous handlers", () => {
  for (const version of everyVersion()) {
    it.effect(
      `Synchronous handlers answer like suspending ones, with or without middleware and traces (${version})`,
      () =>
        Effect.gen(function* () {
          const answers: Array<ReadonlyArray<unknown>> = []
          for (const [way, traced, layers] of ways.flatMap((way) => [
            [way, false, Layer.empty] as const,
            [way, false, around] as const,
            [way, true, Layer.empty] as const
          ])) {
            let end: Ends = Effect.succeed("")
            const handler = () => way(end)
            const features = Layer.mergeAll(Tools.layer(Sum, handler), Tools.layer(Said, handler), layers)
            const client = yield* traced
              ? Effect.provideService(open(features, version), Tracer.Tracer, yield* Tracer.Tracer)
              : open(features, version)
            const seen: Array<unknown> = []
            const ask = (name: string, args: object) =>
              Effect.map(Effect.result(client.call(name, args)), (result) =>
                seen.push(JSON.parse(JSON.stringify(result)))
              )
            for (end of results) yield* ask("sum", { a: 1 })
            for (end of said) yield* ask("said", { a: 1 })
            yield* ask("sum", { a: "no number" })
            yield* ask("nobody", {})
            answers.push(seen)
          }
          const [first, ...others] = answers
          assert.strictEqual(others.length, 17)
          for (const other of others) assert.deepStrictEqual(other, first)
        })
    )
  }

  it.effect("A synchronous handler closes its Scope and releases its layer before the answer", () =>
    Effect.gen(function* () {
      for (const version of everyVersion()) {
        for (const wait of [Effect.void, Effect.yieldNow]) {
          const said: Array<string> = []
          const handler = Effect.fnUntraced(function* () {
            yield* Effect.addFinalizer((exit) =>
              Effect.andThen(
                wait,
                Effect.sync(() => said.push(exit._tag))
              )
            )
            yield* wait
            return "done"
          })
          const client = yield* open(Tools.layer(Said, handler), version)
          yield* client.call("said", { a: 1 })
          assert.deepStrictEqual(said, ["Success"])
        }
      }
    })
  )

  it.effect("A synchronous handler closes its Scope and is logged if encoding its result throws", () =>
    Effect.gen(function* () {
      const unsayable = {
        type: "text" as const,
        get text(): string {
          throw new Error("secret")
        }
      }
      const handler = Effect.fnUntraced(function* () {
        yield* Effect.addFinalizer(() => Effect.sync(() => said.push("closed")))
        return unsayable
      })
      const said: Array<unknown> = []
      const logger = Logger.make(({ message }) => void said.push(Array.isArray(message) ? message[0] : message))
      for (const version of everyVersion()) {
        const client = yield* Effect.provide(open(Tools.layer(Said, handler), version), Logger.layer([logger]))
        const error: any = yield* Effect.flip(client.call("said", { a: 1 }))
        assert.strictEqual(error.code, McpError.InternalError)
        assert.deepStrictEqual(said.splice(0), [
          "closed",
          'The handler for tools/call "said" threw an unexpected error'
        ])
      }
    })
  )

  it.effect("A synchronous handler runs once per call, and not at all if middleware answers", () =>
    Effect.gen(function* () {
      let calls = 0
      const handler = () => {
        calls++
        return Effect.succeed("")
      }
      const refusing = Middleware.layer((request, next) =>
        request.method === "tools/call" ? Effect.fail(McpError.invalidParams("no")) : next
      )
      for (const version of everyVersion()) {
        calls = 0
        const open1 = yield* open(Tools.layer(Said, handler), version)
        yield* open1.call("said", { a: 1 })
        assert.strictEqual(calls, 1)
        const refused = yield* open(Layer.merge(Tools.layer(Said, handler), refusing), version)
        yield* Effect.flip(refused.call("said", { a: 1 }))
        assert.strictEqual(calls, 1)
      }
    })
  )

  it.effect("A synchronous handler that throws is treated as a defect", () =>
    Effect.gen(function* () {
      for (const version of everyVersion()) {
        const client = yield* open(
          Tools.layer(Said, () => {
            throw new Error("secret")
          }),
          version
        )
        const error: any = yield* Effect.flip(client.call("said", { a: 1 }))
        assert.strictEqual(error.code, McpError.InternalError)
        assert.notInclude(JSON.stringify(error), "secret")
      }
    })
  )
})

describe("Lists cached as text", () => {
  const tool = (name: string, admin = false) =>
    Tools.layer(Tool.make(name, { description: name }), () => Effect.succeed(""), {
      visible: ({ scopes }) => !admin || scopes.includes("admin")
    })
  const features = Layer.mergeAll(tool("a"), tool("b", true), tool("c"))
  const principal = (...scopes: ReadonlyArray<string>) => ({ subject: "x", scopes, claims: {} })
  const names = (result: any) => result.tools.map(({ name }: any) => name)

  for (const version of everyVersion()) {
    it.effect(`Cached list text differs by visibility and follows middleware changes (${version})`, () =>
      Effect.gen(function* () {
        const server = yield* serve({ features })
        const renaming = Middleware.layer((_request, next) =>
          Effect.map(next, (result) =>
            "tools" in result
              ? { ...result, tools: result.tools.map((one) => ({ ...one, description: "other" })) }
              : result
          )
        )
        const copying = Middleware.layer((_request, next) =>
          Effect.map(next, (result) => ("tools" in result ? { ...result } : result))
        )
        const copied = yield* serve({ features: Layer.merge(features, copying) })
        const renamed = yield* serve({ features: Layer.merge(features, renaming) })
        for (const scope of ["admin", "guest", "admin", "guest"]) {
          const options = { version, principal: principal(scope) }
          const list = (from: typeof server) =>
            Effect.flatMap(connect(from, options), (client) => client.request("tools/list"))
          const kept = yield* list(server)
          assert.deepStrictEqual(names(kept), scope === "admin" ? ["a", "b", "c"] : ["a", "c"])
          // A list that is encoded again has the same content.
          assert.deepStrictEqual(kept, yield* list(copied))
          const other = yield* list(renamed)
          assert.deepStrictEqual(names(other), names(kept))
          assert.strictEqual(other.tools[0].description, "other")
        }
      })
    )

    it.effect(`Cached list text is paginated (${version})`, () =>
      Effect.gen(function* () {
        const server = yield* serve({ features, pageSize: 1 })
        const client = yield* connect(server, { version, principal: principal("admin") })
        const first = yield* client.request("tools/list")
        assert.deepStrictEqual(yield* client.request("tools/list"), first)
        const second = yield* client.request("tools/list", { cursor: first.nextCursor })
        assert.deepStrictEqual([...names(first), ...names(second)], ["a", "b"])
      })
    )
  }
})

function open(features: Layer.Layer<never, never, any>, version: string) {
  return Effect.flatMap(serve({ features: features as Layer.Layer<never> }), (server) => connect(server, { version }))
}
