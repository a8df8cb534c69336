import { Elicitation, Roots, Tool, Tools } from "@effect-mcp/core"
import { McpError, Revision } from "@effect-mcp/protocol"
import type { Root } from "@effect-mcp/protocol/model/Root"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Scope, Stream, SubscriptionRef } from "effect"
import { Rename, Search } from "@effect-mcp/examples/workspace/tools"
import { connect, connectTo } from "./support.ts"

type Client = Effect.Success<ReturnType<typeof connect>>

const folder = (path: string): Root => ({ uri: `file:///workspace${path}` })
const rootsOf = (...roots: ReadonlyArray<Root>) => Roots.layerStatic(roots)

/**
 * Roots that change. `set` returns once the client has announced it, so that later messages follow the announcement.
 */
const changing = Effect.fnUntraced(function* (...first: ReadonlyArray<Root>) {
  let roots = first
  let asked = 0
  const sets = yield* Queue.unbounded<Deferred.Deferred<void>>()
  const service = Layer.succeed(Roots.Roots, {
    list: Effect.sync(() => {
      asked++
      return roots
    }),
    changes: Stream.flatMap(Stream.fromQueue(sets), (told) =>
      Stream.concat(Stream.make(undefined), Stream.fromEffectDrain(Deferred.succeed(told, undefined)))
    )
  })
  const set = Effect.fnUntraced(function* (...next: ReadonlyArray<Root>) {
    roots = next
    const told = Deferred.makeUnsafe<void>()
    yield* Queue.offer(sets, told)
    yield* Deferred.await(told)
  })
  return { asked: () => asked, service, set }
})

/** The files that the client sees, by every way that leads to a file. */
const visible = Effect.fnUntraced(function* (client: Client) {
  const listed = Array.from(yield* Stream.runCollect(client.listResources), ({ name }) => name)
  const { values } = yield* client.complete({
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "path", value: "" }
  })
  const { matches } = yield* client.callTool(Search, { query: "n" })
  return { listed, completed: values.toSorted(), found: [...new Set(matches.map(({ path }) => path))] }
})

const all = ["README.md", "logo.png", "src/deep/a b#c.ts", "src/index.ts"]
const texts = all.filter((path) => path !== "logo.png")
const src = ["src/deep/a b#c.ts", "src/index.ts"]

describe.each([...Revision.stateful])("Client roots over $version", (revision) => {
  it.effect("A client sees only the part of the folder its root covers", () =>
    Effect.gen(function* () {
      const client = yield* Effect.provide(connect(revision), rootsOf(folder("/src")))
      assert.deepStrictEqual(yield* visible(client), { listed: src, completed: src, found: src })
      assert.include(
        (yield* Effect.flip(client.readResource("file:///workspace/README.md"))).message,
        "Resource not found"
      )
      assert.include(
        (yield* Effect.flip(client.subscribeResource("file:///workspace/README.md"))).message,
        "Resource not found"
      )
      assert.include(
        (yield* Effect.flip(client.getPromptByName("review", { path: "README.md" }))).message,
        "Not in the workspace"
      )
    })
  )

  it.effect("A client sees the whole folder if its roots contain it or it declares none", () =>
    Effect.gen(function* () {
      const everything = { listed: all, completed: all, found: texts }
      const above = yield* Effect.provide(connect(revision), rootsOf({ uri: "file:///workspace" }))
      assert.deepStrictEqual(yield* visible(above), everything)
      assert.deepStrictEqual(yield* visible(yield* connect(revision)), everything)
    })
  )

  it.effect("A client sees no file if its roots are elsewhere", () =>
    Effect.gen(function* () {
      const nothing = { listed: [], completed: [], found: [] }
      const elsewhere = yield* Effect.provide(connect(revision), rootsOf({ uri: "file:///workspace-2" }))
      assert.deepStrictEqual(yield* visible(elsewhere), nothing)
      assert.deepStrictEqual(yield* visible(yield* Effect.provide(connect(revision), rootsOf())), nothing)
    })
  )

  it.effect("Roots are requested once, and again after the client announces a change", () =>
    Effect.gen(function* () {
      const { asked, service, set } = yield* changing(folder("/src"))
      const client = yield* Effect.provide(connect(revision), service)
      assert.deepStrictEqual((yield* visible(client)).listed, src)
      assert.strictEqual(asked(), 1)
      yield* set(folder("/src/deep"))
      assert.deepStrictEqual(yield* visible(client), {
        listed: ["src/deep/a b#c.ts"],
        completed: ["src/deep/a b#c.ts"],
        found: ["src/deep/a b#c.ts"]
      })
      assert.strictEqual(asked(), 2)
    })
  )
})

describe.each(Revision.stateless)("Client roots over $version", (revision) => {
  it.effect("Tools and reads request roots, while lists cannot ask and show no file", () =>
    Effect.gen(function* () {
      const client = yield* Effect.provide(connect(revision), rootsOf(folder("/src")))
      assert.deepStrictEqual(yield* visible(client), { listed: [], completed: [], found: src })
      assert.include(yield* client.readResourceText("file:///workspace/src/index.ts"), "needle")
      assert.include(
        (yield* Effect.flip(client.readResource("file:///workspace/README.md"))).message,
        "Resource not found"
      )
      assert.include(
        (yield* Effect.flip(client.getPromptByName("review", { path: "README.md" }))).message,
        "Not in the workspace"
      )
    })
  )
})

describe("Client roots", () => {
  it.effect("A client whose roots cannot be listed sees no file", () =>
    Effect.gen(function* () {
      const failing = Layer.succeed(Roots.Roots, {
        list: Effect.fail(McpError.internalError("no")),
        changes: undefined
      })
      const client = yield* Effect.provide(connect(), failing)
      assert.deepStrictEqual(yield* visible(client), { listed: [], completed: [], found: [] })
    })
  )

  it.effect("Roots are checked again after the user's answer, so that a change can reject the call", () =>
    Effect.gen(function* () {
      const { service, set } = yield* changing(folder(""))
      const asked = Deferred.makeUnsafe<void>()
      const answer = Deferred.makeUnsafe<void>()
      const user = Elicitation.layer({
        form: () =>
          Deferred.succeed(asked, undefined).pipe(
            Effect.andThen(Deferred.await(answer)),
            Effect.as({ action: "accept" as const, content: {} })
          )
      })
      const client = yield* Effect.provide(connect(), [service, user])
      const call = yield* Effect.forkChild(
        Effect.flip(client.callTool(Rename, { from: "README.md", to: "src/README.md" }))
      )
      yield* Deferred.await(asked)
      yield* set(folder("/src"))
      yield* client.ping // once it is answered, what was said before it has arrived
      yield* Deferred.succeed(answer, undefined)
      assert.strictEqual((yield* Fiber.join(call)).message, "Not in the workspace: README.md")
    })
  )

  it.effect("Root changes reach a fiber that outlives its request, until the session ends", () =>
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<void>()
      const ended = Deferred.makeUnsafe<void>()
      const scope = yield* Effect.scope
      const listen = Tools.layer(
        Tool.make("listen", { description: "Listens." }),
        Effect.fnUntraced(function* () {
          const { changes = Stream.empty } = yield* Roots.Roots
          yield* Stream.runForEach(changes, () => Queue.offer(heard, undefined)).pipe(
            Effect.andThen(Deferred.succeed(ended, undefined)),
            Effect.forkIn(scope, { startImmediately: true })
          )
          return "listening"
        })
      )
      const server = Context.get(
        yield* Layer.build(McpServer.layer({ name: "test", version: "1", features: listen })),
        McpServer.McpServer
      )
      const ref = yield* SubscriptionRef.make<ReadonlyArray<Root>>([])
      const session = yield* Scope.make()
      const client = yield* connectTo(server).pipe(Effect.provide(Roots.layerRef(ref)), Scope.provide(session))

      yield* client.callToolByName("listen")
      yield* SubscriptionRef.set(ref, [folder("")])
      yield* Queue.take(heard)
      assert.isFalse(Deferred.isDoneUnsafe(ended))
      yield* Scope.close(session, Exit.void)
      yield* Deferred.await(ended)
    })
  )
})
