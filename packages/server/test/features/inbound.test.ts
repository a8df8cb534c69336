/**
 * Hooks around every inbound message: the messages they see and change, and what happens if a hook waits, fails or is interrupted.
 */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, Logger, Schema, Scope } from "effect"
import { connect, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"

class Journal extends Context.Service<Journal, Array<string>>()("test/Journal") {}

let calls = 0
const tool = Tools.layer(Tool.make("t", { description: "" }), () => Effect.sync(() => `called ${++calls}`))
const newest = "2026-07-28"

/** A hook that records every message. */
const noting = (seen: Array<string>) =>
  Middleware.inbound(({ message }, next) =>
    Effect.andThen(
      Effect.sync(() => seen.push(message.method)),
      next
    )
  )

describe("Inbound message hooks", () => {
  for (const version of everyVersion()) {
    it.effect(`An inbound hook sees requests of every method and notifications in order (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const client = yield* session(Layer.merge(tool, noting(seen)), { version })
        yield* client.call("t")
        yield* client.notify("notifications/unknown")
        const { code } = yield* client.refused("acme/unknown")
        assert.strictEqual(code, McpError.MethodNotFound)
        const opening = version === newest ? ["server/discover"] : ["initialize", "notifications/initialized", "ping"]
        if (version !== newest) assert.deepStrictEqual(yield* client.request("ping"), {})
        assert.deepStrictEqual(
          seen.toSorted(),
          [...opening, "tools/call", "notifications/unknown", "acme/unknown"].toSorted()
        )
      })
    )

    it.effect(`An inbound hook can answer an unknown method and report progress (${version})`, () =>
      Effect.gen(function* () {
        let late: (() => void) | undefined
        const relay = Middleware.inbound(({ message, outbound }, next) =>
          Effect.catchIf(
            next,
            ({ code }) => code === McpError.MethodNotFound && message.method === "acme/sum",
            () =>
              Effect.sync(() => {
                const notify = (progress: number) =>
                  outbound.notify("notifications/progress", { progressToken: "p", progress })
                notify(1)
                late = () => notify(2)
                return { resultType: "complete", sum: message.params?.["a"] }
              })
          )
        )
        const client = yield* session(Layer.merge(tool, relay), { version })
        assert.deepStrictEqual(yield* client.request("acme/sum", { a: 3 }), {
          sum: 3,
          ...(version === newest ? {} : { resultType: "complete" })
        })
        late?.()
        yield* quiesce
        assert.deepStrictEqual(
          client.notes("notifications/progress").map(({ params }) => params.progress),
          [1]
        )
      })
    )

    it.effect(`An inbound hook fails a request with its own error, or -32603 on a defect (${version})`, () =>
      Effect.gen(function* () {
        const guard = Middleware.inbound(({ message }, next) =>
          message.method === "tools/call"
            ? Effect.fail(McpError.forbidden("Not now"))
            : message.method === "tools/list"
              ? Effect.die(new Error("secret"))
              : next
        )
        const client = yield* Effect.provide(session(Layer.merge(tool, guard), { version }), Logger.layer([]))
        const before = calls
        assert.strictEqual((yield* client.refused("tools/call", { name: "t" })).code, McpError.Forbidden)
        assert.strictEqual((yield* client.refused("tools/list")).code, McpError.InternalError)
        assert.strictEqual(calls, before)
      })
    )

    it.effect(`Cancelling a request interrupts a stuck inbound hook and closes its Scope (${version})`, () =>
      Effect.gen(function* () {
        const started = yield* Latch.make()
        const ends: Array<string> = []
        const stuck = Middleware.inbound(({ message }, next) =>
          message.method === "tools/call"
            ? Effect.addFinalizer((exit) => Effect.sync(() => ends.push(exit._tag))).pipe(
                Effect.andThen(started.open),
                Effect.andThen(Effect.never)
              )
            : next
        )
        const client = yield* session(Layer.merge(tool, stuck), { version })
        const call = yield* Effect.forkChild(client.call("t"), { startImmediately: true })
        yield* started.await
        assert.lengthOf(yield* client.session.peer.inFlight, 1)
        yield* Fiber.interrupt(call)
        yield* quiesce
        assert.deepStrictEqual(ends, ["Failure"])
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
      })
    )

    it.effect(`A stuck inbound hook does not delay the end of its session (${version})`, () =>
      Effect.gen(function* () {
        const started = yield* Latch.make()
        const ends: Array<string> = []
        const stuck = Middleware.inbound(({ message }, next) =>
          message.method === "tools/call" || message.method === "notifications/unknown"
            ? Effect.onExit(Effect.andThen(started.open, Effect.never), () =>
                Effect.sync(() => ends.push(message.method))
              )
            : next
        )
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(session(Layer.merge(tool, stuck), { version }), scope)
        const call = yield* Effect.forkChild(Effect.exit(client.call("t")), { startImmediately: true })
        yield* started.await
        yield* client.notify("notifications/unknown")
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.join(call)
        assert.deepStrictEqual(ends.toSorted(), ["notifications/unknown", "tools/call"])
      })
    )

    it.effect(`An inbound hook that calls next twice handles the request twice (${version})`, () =>
      Effect.gen(function* () {
        const twice = Middleware.inbound(({ message }, next) =>
          message.method === "tools/call" ? Effect.andThen(next, next) : next
        )
        const client = yield* session(Layer.merge(tool, twice), { version })
        calls = 0
        assert.strictEqual((yield* client.call("t")).content[0].text, "called 2")
      })
    )

    it.effect(`An inbound hook wraps later hooks, with its layer's services (${version})`, () =>
      Effect.gen(function* () {
        const journal: Array<string> = []
        const note = (name: string) => Effect.map(Journal, (journal) => void journal.push(name))
        const around = (name: string) =>
          Middleware.inbound((_, next) =>
            Effect.andThen(note(`${name} begins`), Effect.ensuring(next, note(`${name} ends`)))
          )
        const ordered = Layer.provideMerge(around("second"), around("first")).pipe(
          Layer.provide(Layer.succeed(Journal, journal))
        )
        const client = yield* session(Layer.merge(tool, ordered), { version })
        journal.splice(0)
        yield* client.call("t")
        assert.deepStrictEqual(journal, ["first begins", "second begins", "second ends", "first ends"])
      })
    )
  }

  for (const version of versions()) {
    it.effect(`A waiting inbound hook delays later notifications, but no requests (${version})`, () =>
      Effect.gen(function* () {
        const go = yield* Latch.make()
        const seen: Array<unknown> = []
        const slow = Middleware.inbound(({ message }, next) =>
          message.method === "acme/note"
            ? Effect.andThen(
                message.params?.["n"] === 1 ? go.await : Effect.void,
                Effect.andThen(
                  Effect.sync(() => seen.push(message.params?.["n"])),
                  next
                )
              )
            : next
        )
        const client = yield* session(Layer.merge(tool, slow), { version })
        for (const n of [1, 2, 3]) yield* client.notify("acme/note", { n })
        assert.deepStrictEqual(seen, [])
        yield* client.call("t")
        yield* go.open
        yield* quiesce
        assert.deepStrictEqual(seen, [1, 2, 3])
      })
    )

    it.effect(`A hook that fails on one notification does not affect the next one (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const failing = Middleware.inbound(({ message }, next) => {
          if (message.method !== "acme/note") return next
          const { n } = message.params ?? {}
          if (n === 1) return Effect.fail(McpError.invalidParams("no"))
          if (n === 2) throw new Error("bug")
          if (n === 3) return Effect.interrupt
          return Effect.sync(() => seen.push(n))
        })
        const client = yield* Effect.provide(session(Layer.merge(tool, failing), { version }), Logger.layer([]))
        for (const n of [1, 2, 3, 4]) yield* client.notify("acme/note", { n })
        assert.deepStrictEqual(seen, [4])
      })
    )

    it.effect(`An inbound hook queues at most 1024 notifications (${version})`, () =>
      Effect.gen(function* () {
        const go = yield* Latch.make()
        let seen = 0
        const slow = Middleware.inbound(({ message }, next) =>
          message.method === "acme/note"
            ? Effect.andThen(
                go.await,
                Effect.sync(() => seen++)
              )
            : next
        )
        const client = yield* session(Layer.merge(tool, slow), { version })
        for (let n = 0; n < 2000; n++) client.send({ jsonrpc: "2.0", method: "acme/note" })
        yield* quiesce
        yield* go.open
        yield* quiesce
        // One had already left the queue.
        assert.strictEqual(seen, 1025)
      })
    )
  }

  it.effect("An inbound hook sees the session until its layer closes", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const context = yield* Effect.context<never>()
      let registry: Context.Context<Middleware.MiddlewareRegistry> | undefined
      const capture = Layer.effectDiscard(
        Effect.map(Effect.context<Middleware.MiddlewareRegistry>(), (given) => void (registry = given))
      )
      const server = yield* serve({ features: Layer.merge(tool, capture) })
      const client = yield* connect(server)
      const scope = yield* Scope.make()
      const hook = Middleware.inbound(({ session }, next) => {
        seen.push(session?.id)
        return next
      })
      yield* Layer.buildWithScope(hook, scope).pipe(Effect.provideContext(Context.merge(context, registry!)))
      yield* client.call("t")
      assert.deepStrictEqual(seen, [client.session.id])
      yield* Scope.close(scope, Exit.void)
      yield* client.call("t")
      assert.lengthOf(seen, 1)
    })
  )

  it.effect("Removing a hook while notifications wait keeps their order", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const go = yield* Latch.make()
      const context = yield* Effect.context<never>()
      let registry: Context.Context<Middleware.MiddlewareRegistry> | undefined
      const capture = Layer.effectDiscard(
        Effect.map(Effect.context<Middleware.MiddlewareRegistry>(), (given) => void (registry = given))
      )
      const noted = Extension.notification("notifications/acme/note", { from: "client", params: { n: Schema.Int } })
      const Acme = Extension.make("com.example/acme", { notifications: { noted }, undeclared: "served" })
      const notes = Extensions.layer(Acme, { notifications: { noted: ({ n }) => Effect.sync(() => seen.push(n)) } })
      const client = yield* session(Layer.merge(notes, capture), {})
      const scope = yield* Scope.make()
      const hook = Middleware.inbound((_, next) => Effect.andThen(go.await, next))
      yield* Layer.buildWithScope(hook, scope).pipe(Effect.provideContext(Context.merge(context, registry!)))
      for (const n of [1, 2]) yield* client.notify(noted.method, { n })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* client.notify(noted.method, { n: 3 })
      yield* go.open
      yield* Fiber.join(closing)
      yield* quiesce
      assert.deepStrictEqual(seen, [1, 2, 3])
      yield* client.notify(noted.method, { n: 4 })
      assert.deepStrictEqual(seen, [1, 2, 3, 4])
    })
  )
})

describe("Shutdown", () => {
  it.effect("A notification that arrives during shutdown does not delay it", () =>
    Effect.gen(function* () {
      let post = (): void => {}
      const begun: Array<string> = []
      const hook = Middleware.inbound(({ message }) => {
        begun.push(message.method)
        return Effect.never
      })
      // Closes before the layer of the hook.
      const posting = Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => post())))
      const scope = yield* Scope.make()
      const { receive } = yield* Scope.provide(serve({ features: Layer.provideMerge(posting, hook) }), scope)
      post = () => receive({ jsonrpc: "2.0", method: "acme/note" }, {})
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* quiesce
      assert.deepStrictEqual(begun, ["acme/note"])
      assert.isDefined(closing.pollUnsafe())
    })
  )
})
