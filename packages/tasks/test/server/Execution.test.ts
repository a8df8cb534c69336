/**
 * Middleware around a call that becomes a task and around its execution, and the data that a task keeps of its request.
 */
import { Elicitation, Principal, RequestContext } from "@effect-mcp/core"
import * as Middleware from "@effect-mcp/server/Middleware"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

const confirm = Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
const ok = { action: "accept", content: { ok: true } }
const hello = tool("hello", "optional", () => Effect.succeed("Hello"))
const plain = tool("plain", undefined, () => Effect.succeed("Plain"))

/** Records events in order. */
const diary = () => {
  const lines: Array<string> = []
  const note = (line: string) => Effect.sync(() => void lines.push(line))
  const around = (name: string, options?: Middleware.Options) =>
    Middleware.on(
      "tools/call",
      (_, next) =>
        Effect.onExit(Effect.andThen(note(`${name} begins`), next), ({ _tag }) => note(`${name} ends: ${_tag}`)),
      options
    )
  return { around, note, take: () => lines.splice(0) }
}

/** Calls a tool as a task, in the form of a generation. */
const calls = {
  "2025-11-25": (features: Parameters<typeof Client.serve>[0]) =>
    Effect.map(Session.inMemory(features), (client) => (name: string) => Effect.asVoid(client.start(name))),
  "2026-07-28": (features: Parameters<typeof Client.serve>[0]) =>
    Effect.map(Client.session(features), (client) => (name: string) => Effect.asVoid(client.call(name)))
}

describe.each(["2025-11-25", "2026-07-28"] as const)("Middleware in %s", (version) => {
  it.effect("Middleware can wrap a task's creation or its execution", () =>
    Effect.gen(function* () {
      const { around, note, take } = diary()
      const work = tool("work", "optional", () => Effect.andThen(note("work"), Effect.as(Effect.sleep(5), "Done")))
      const inner = around("execution", { tasks: "execution" })
      const middleware = Layer.provideMerge(around("creation"), inner)
      const call = yield* calls[version](Layer.mergeAll(work, middleware, Tasks.layer()))
      yield* call("work")
      yield* quiesce
      const begun = take()
      assert.sameMembers(begun, ["creation begins", "creation ends: Success", "execution begins", "work"])
      assert.strictEqual(begun[0], "creation begins")
      assert.isBelow(begun.indexOf("execution begins"), begun.indexOf("work"))
      yield* TestClock.adjust(5)
      yield* quiesce
      assert.deepStrictEqual(take(), ["execution ends: Success"])
    })
  )

  it.effect("Execution middleware sees the task's principal and can fail the task", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const refusing = Middleware.layer(
        ({ method }, next) =>
          Effect.flatMap(Effect.all([Principal.Principal, RequestContext.RequestContext]), ([{ subject }]) => {
            if (method === "tools/call") seen.push(subject)
            return next
          }),
        { tasks: "execution" }
      )
      const ada = { principal: { subject: "ada", scopes: [], claims: {} } }
      const server = yield* Client.serve(Layer.mergeAll(hello, refusing, Tasks.layer()))
      if (version === "2025-11-25") yield* (yield* Session.connect(server, ada)).start("hello")
      else yield* (yield* Client.connect(server, ada)).call("hello")
      yield* quiesce
      assert.deepStrictEqual(seen, ["ada"])
    })
  )

  it.effect("A task keeps nothing from the request that created it", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collect: () => void = runInNewContext("gc")
      const requests: Array<WeakRef<object>> = []
      const seeing = Middleware.on("tools/call", (_, next) =>
        Effect.flatMap(RequestContext.RequestContext, (context) => {
          requests.push(new WeakRef(context))
          return next
        })
      )
      const wait = tool("wait", "optional", () => Effect.never)
      const call = yield* calls[version](Layer.mergeAll(wait, seeing, Tasks.layer()))
      for (let n = 0; n < 10; n++) yield* call("wait")
      yield* quiesce
      // The last request may still be on a stack.
      const kept = () => requests.slice(0, -1).filter((request) => request.deref() !== undefined).length
      for (let n = 0; n < 20 && kept() > 0; n++) {
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        collect()
      }
      assert.strictEqual(kept(), 0)
    })
  )
})

describe("Task middleware", () => {
  it.effect("Execution middleware wraps each run of a task and each plain call", () =>
    Effect.gen(function* () {
      const { around, take } = diary()
      const ask = tool("ask", "optional", () => Effect.map(confirm, ({ ok }) => String(ok)))
      const client = yield* Client.session(
        Layer.mergeAll(ask, hello, around("run", { tasks: "execution" }), Tasks.layer())
      )
      const { taskId } = yield* client.call("ask")
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(take(), ["run begins", "run ends: Failure"])
      yield* client.update(taskId, { sure: ok })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(take(), ["run begins", "run ends: Success"])
      yield* client.call("hello", {}, Client.undeclared)
      assert.deepStrictEqual(take(), ["run begins", "run ends: Success"])
    })
  )

  it.effect("Task middleware does not wrap calls to a tool without `task`", () =>
    Effect.gen(function* () {
      const places: Array<Middleware.Place | undefined> = []
      const spied = Layer.effect(
        Middleware.MiddlewareRegistry,
        Effect.map(Middleware.MiddlewareRegistry, (registry) => ({
          ...registry,
          register: (middleware, place) => {
            places.push(place)
            return registry.register(middleware, place)
          }
        }))
      )
      yield* Client.serve(Layer.mergeAll(hello, plain, Layer.provide(Tasks.layer(), spied)))
      const onCalls = places.filter((place) => place?.method === undefined || place.method === "tools/call")
      assert.lengthOf(onCalls, 1)
      const lies = (params: { readonly name: string; readonly task?: object }) =>
        onCalls[0]?.when?.({ method: "tools/call", params })
      assert.deepStrictEqual(
        [lies({ name: "hello" }), lies({ name: "plain" }), lies({ name: "plain", task: {} }), lies({ name: "none" })],
        [true, false, true, false]
      )
    })
  )
})
