/** Registration as acquisition: names, lifetimes, sources, visibility, and the services of a handler. */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import type { Registries } from "@effect-mcp/server/McpServer"
import { Registry } from "../../src/features/Registry.ts"
import { verifies } from "@effect-mcp/spec/verifies"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Latch, Layer, PubSub, Schema, Scope, Stream } from "effect"
import { Scheduler } from "effect/Scheduler"
import { connect, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"
import { StepScheduler } from "../support/steps.ts"

const say = (name: string, effect: Effect.Effect<string> = Effect.succeed(name)) =>
  Tools.layer(Tool.make(name, { description: "" }), () => effect)
const names = (client: { request: (method: string) => Effect.Effect<any, any> }) =>
  Effect.map(client.request("tools/list"), (result) => result.tools.map((tool: any) => tool.name))

/** A server whose registries the test can reach. */
const open = Effect.gen(function* () {
  const held = yield* Deferred.make<Context.Context<Registries>>()
  const server = yield* serve({
    features: Layer.effectDiscard(
      Effect.flatMap(Effect.context<Registries>(), (context) => Deferred.succeed(held, context))
    ),
    dynamic: true
  })
  const context = yield* Deferred.await(held)
  const add = (layer: Layer.Layer<never, never, Registries>) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Effect.provideContext(Layer.buildWithScope(layer, scope), context)
      return { scope, close: Scope.close(scope, Exit.void) }
    })
  return { server, add, context }
})

describe("Names", () => {
  it.effect(
    "A duplicate name is a defect that names both definitions",
    () =>
      Effect.gen(function* () {
        const twice = [
          Layer.merge(say("a"), say("a")),
          Layer.merge(
            Prompts.layer(Prompt.make("p"), () => Effect.succeed("")),
            Prompts.layer(Prompt.make("p"), () => Effect.succeed(""))
          ),
          Layer.merge(
            Resources.layer({ uri: "x:", name: "a" }, Effect.succeed("")),
            Resources.layer({ uri: "x:", name: "b" }, Effect.succeed(""))
          ),
          Layer.merge(
            Resources.layerTemplate({ uriTemplate: "x:{a}", name: "a" }, () => Effect.succeed("")),
            Resources.layerTemplate({ uriTemplate: "x:{a}", name: "b" }, () => Effect.succeed(""))
          )
        ]
        for (const features of twice) {
          const exit = yield* Effect.exit(session(features as Layer.Layer<never, never, Registries>))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          const [defect] = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
          // The defect names both places: two adjacent lines of this file.
          const lines =
            /already registered.*\n  the first: at .*registry.test.ts:(\d+):.*\n  the second: at .*registry.test.ts:(\d+):/
          const [, first, second] = lines.exec(String(defect?.defect)) ?? []
          assert.isAtLeast(Number(second), Number(first), String(defect?.defect))
        }
      }),
    verifies("tools.name.unique")
  )

  it.effect("A rejected duplicate leaves the first entry in place", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      yield* add(say("a", Effect.succeed("first")))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(add(say("a", Effect.succeed("second"))))))
      assert.strictEqual((yield* (yield* connect(server)).call("a")).content[0].text, "first")
    })
  )
})

describe("Lifetimes", () => {
  it.effect("A closing layer removes its entry, finishes in-flight calls, then releases its services", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const started = yield* Latch.make()
      const finish = yield* Latch.make()
      class Kitchen extends Context.Service<Kitchen, { readonly cook: Effect.Effect<string> }>()("Kitchen") {}
      const kitchen = Layer.effect(
        Kitchen,
        Effect.acquireRelease(
          Effect.succeed({
            cook: Effect.as(Effect.andThen(started.open, finish.await), "cooked")
          }),
          () => Effect.sync(() => events.push("kitchen closed"))
        )
      )
      const { add, server } = yield* open
      const { close } = yield* add(
        Layer.provide(
          Tools.layer(Tool.make("cook", { description: "" }), () => Effect.flatMap(Kitchen, ({ cook }) => cook)),
          kitchen
        )
      )
      const client = yield* connect(server)
      const call = yield* Effect.forkChild(
        Effect.tap(client.call("cook"), () => Effect.sync(() => events.push("answered"))),
        {
          startImmediately: true
        }
      )
      yield* started.await
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* quiesce
      assert.strictEqual((yield* client.refused("tools/call", { name: "cook" })).code, -32602)
      assert.deepStrictEqual(yield* names(client), [])
      assert.deepStrictEqual(events, [])
      yield* finish.open
      assert.strictEqual((yield* Fiber.join(call)).content[0].text, "cooked")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(events.toSorted(), ["answered", "kitchen closed"])
    })
  )

  it.effect("Removing an entry keeps its successor of the same name", () =>
    Effect.gen(function* () {
      const started = yield* Latch.make()
      const finish = yield* Latch.make()
      const { add, server } = yield* open
      const first = yield* add(say("a", Effect.as(Effect.andThen(started.open, finish.await), "first")))
      const client = yield* connect(server)
      const call = yield* Effect.forkChild(client.call("a"), { startImmediately: true })
      yield* started.await
      const closing = yield* Effect.forkChild(first.close, { startImmediately: true })
      yield* add(say("a", Effect.succeed("second")))
      yield* finish.open
      yield* Fiber.join(closing)
      assert.strictEqual((yield* Fiber.join(call)).content[0].text, "first")
      assert.strictEqual((yield* client.call("a")).content[0].text, "second")
    })
  )

  it.effect("An interrupted call does not keep its registry entry", () =>
    Effect.gen(function* () {
      let scheduler: StepScheduler
      let steps = 0
      do {
        const registry = yield* Registry.make<string, never>("tool")
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register("a", "entry"), scope)
        const call = registry.hold(
          "a",
          () => Effect.never,
          () => Effect.die("gone")
        )
        scheduler = new StepScheduler(++steps, (fiber) => fiber.interruptUnsafe())
        const fiber = Effect.runForkWith(Context.make(Scheduler, scheduler))(scheduler.during(call))
        // After its last step the call waits.
        yield* Fiber.interrupt(fiber)
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* quiesce
        assert.isDefined(closing.pollUnsafe(), `interrupted after ${steps} steps`)
      } while (scheduler.isReached)
      assert.isAbove(steps, 2)
    })
  )

  it.effect("A tool removed while middleware waits does not run", () =>
    Effect.gen(function* () {
      const asked = yield* Latch.make()
      const go = yield* Latch.make()
      let ran = 0
      const { add, server } = yield* open
      const tool = yield* add(
        say(
          "a",
          Effect.sync(() => `${ran++}`)
        )
      )
      yield* add(Middleware.layer((_, next) => Effect.andThen(Effect.andThen(asked.open, go.await), next)))
      const client = yield* connect(server)
      const call = yield* Effect.forkChild(client.refused("tools/call", { name: "a" }), { startImmediately: true })
      yield* asked.await
      yield* tool.close
      yield* go.open
      assert.strictEqual((yield* Fiber.join(call)).code, -32602)
      assert.strictEqual(ran, 0)
    })
  )

  for (const version of versions()) {
    it.effect(
      `list_changed notifies each session once for many changes in one turn (${version})`,
      () =>
        Effect.gen(function* () {
          const { add, server } = yield* open
          const clients = [yield* connect(server, { version }), yield* connect(server, { version })]
          const bye = yield* Effect.forEach(["a", "b", "c", "d"], (name) => add(say(name)))
          yield* quiesce
          for (const client of clients) assert.strictEqual(client.notes("notifications/tools/list_changed").length, 1)
          yield* Effect.forEach(bye, ({ close }) => close, { discard: true })
          yield* add(Prompts.layer(Prompt.make("p"), () => Effect.succeed("")))
          yield* quiesce
          for (const client of clients) {
            assert.strictEqual(client.notes("notifications/tools/list_changed").length, 2)
            assert.strictEqual(client.notes("notifications/prompts/list_changed").length, 1)
            assert.isFalse("params" in client.notes("notifications/prompts/list_changed")[0])
          }
        }),
      verifies("tools.list-changed.sent", "prompts.list-changed.sent")
    )
  }
})

describe("Handler services", () => {
  class Ambient extends Context.Service<Ambient, string>()("Ambient") {}
  class Own extends Context.Service<Own, string>()("Own") {}

  it.effect("Handler services come from the layer and the request, not the calling code", () =>
    Effect.gen(function* () {
      const probe = Effect.map(
        Effect.context<never>(),
        (context) =>
          `${Context.getOrUndefined(context, Own)} ${Context.getOrUndefined(context, Ambient)} ${Context.getOrUndefined(context, RequestContext)?.method}`
      )
      const features = Layer.mergeAll(
        say("probe", probe),
        Resources.layer({ uri: "x:", name: "x" }, probe),
        Prompts.layer(Prompt.make("p", { arguments: { a: Schema.String } }), () => probe, {
          complete: { a: () => Effect.map(probe, (found) => [found]) }
        })
      ).pipe(Layer.provide(Layer.succeed(Own, "own")))
      const server = yield* serve({ features })
      const client = yield* connect(server).pipe(Effect.provideService(Ambient, "foreign"))
      assert.strictEqual((yield* client.call("probe")).content[0].text, "own undefined tools/call")
      assert.strictEqual(
        (yield* client.request("resources/read", { uri: "x:" })).contents[0].text,
        "own undefined resources/read"
      )
      const got = yield* client.request("prompts/get", { name: "p", arguments: { a: "" } })
      assert.strictEqual(got.messages[0].content.text, "own undefined prompts/get")
      const completion = yield* client.request("completion/complete", {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "" }
      })
      assert.deepStrictEqual(completion.completion.values, ["own undefined completion/complete"])
    })
  )

  for (const version of everyVersion()) {
    it.effect(
      `Handler services include the caller, the client and any _meta of the request (${version})`,
      () =>
        Effect.gen(function* () {
          let seen: RequestContext["Service"] | undefined
          const client = yield* session(
            Tools.layer(Tool.make("look", { description: "" }), () =>
              Effect.map(RequestContext, (context) => {
                seen = context
                return ""
              })
            ),
            { capabilities: { roots: { listChanged: true }, "x-unknown": 1 }, version }
          )
          const meta = {
            "example.com/trace": "t",
            "io.modelcontextprotocol/x": [1],
            "modelcontextprotocol.io/": null,
            "mcp.dev/y": {}
          }
          yield* client.call("look", {}, meta)
          assert.strictEqual(seen?.revision.version, version)
          assert.strictEqual(seen?.sessionId, version < "2026-07-28" ? client.session.id : undefined)
          assert.deepStrictEqual(seen?.clientInfo, { name: "raw", version: "0" })
          assert.deepStrictEqual(seen?.clientCapabilities as object, { roots: { listChanged: true }, "x-unknown": 1 })
          assert.deepInclude(seen?.meta, meta)
          if (version < "2026-07-28") assert.deepStrictEqual(seen?.meta, meta)
        }),
      verifies("meta.reserved.no-assumptions")
    )
  }

  it.effect("Closing a request's Scope ends its services before the answer is sent", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      let count = 0
      const client = yield* session(
        Tools.layer(Tool.make("scoped", { description: "" }), () =>
          Effect.gen(function* () {
            const id = ++count
            yield* Effect.acquireRelease(
              Effect.sync(() => events.push(`open ${id}`)),
              () => Effect.sync(() => events.push(`close ${id}`))
            )
            return ""
          })
        )
      )
      yield* client.call("scoped")
      assert.deepStrictEqual(events, ["open 1", "close 1"])
      yield* client.call("scoped")
      assert.deepStrictEqual(events.slice(2), ["open 2", "close 2"])
    })
  )
})

describe("Visibility", () => {
  for (const version of everyVersion()) {
    it.effect(
      `A tool can be hidden from other callers' lists and calls (${version})`,
      () =>
        Effect.gen(function* () {
          const visible = ({ scopes }: Principal["Service"]) => scopes.includes("admin")
          const server = yield* serve({
            features: Layer.merge(
              say("open"),
              Tools.layer(Tool.make("drop", { description: "" }), () => Effect.succeed("dropped"), { visible })
            )
          })
          const principal = (...scopes: ReadonlyArray<string>) => ({
            version,
            principal: { subject: "x", scopes, claims: {} }
          })
          const admin = yield* connect(server, principal("admin"))
          const guest = yield* connect(server, principal())
          assert.deepStrictEqual(yield* names(admin), ["open", "drop"])
          assert.deepStrictEqual(yield* names(guest), ["open"])
          assert.strictEqual((yield* admin.call("drop")).content[0].text, "dropped")
          const hidden = yield* guest.refused("tools/call", { name: "drop" })
          const unknown = yield* guest.refused("tools/call", { name: "dorp" })
          assert.strictEqual(hidden.message.replace("drop", "dorp"), unknown.message)
          assert.strictEqual(hidden.code, unknown.code)
        }),
      verifies("tools.security.access-control")
    )
  }
})

describe("Mounted sources", () => {
  const source = (...tools: ReadonlyArray<string>) =>
    Effect.map(PubSub.unbounded<void>(), (hub) => ({
      hub,
      source: {
        list: Effect.succeed(tools.map((name) => ({ name, inputSchema: { type: "object" as const } }))),
        call: ({ name }: { readonly name: string }) =>
          tools.includes(name)
            ? Effect.succeed({ content: [{ type: "text" as const, text: `mounted ${name}` }] })
            : undefined,
        changes: Stream.fromPubSub(hub)
      } satisfies Tools.ToolSource
    }))
  const mount = (tools: Tools.ToolSource, options?: { readonly prefix?: string }) =>
    Layer.effectDiscard(Effect.flatMap(Tools.ToolRegistry, (registry) => registry.mount(tools, options)))

  it.effect("Mounted tools are listed with the server's own tools, which take precedence", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      const one = yield* source("a", "b")
      yield* add(say("a", Effect.succeed("own a")))
      const plain = yield* add(mount(one.source))
      yield* add(mount(one.source, { prefix: "x." }))
      const client = yield* connect(server)
      assert.deepStrictEqual(yield* names(client), ["a", "b", "x.a", "x.b"])
      const text = (name: string) => Effect.map(client.call(name), (result) => result.content[0].text)
      assert.strictEqual(yield* text("a"), "own a")
      assert.strictEqual(yield* text("b"), "mounted b")
      assert.strictEqual(yield* text("x.a"), "mounted a")
      assert.strictEqual((yield* client.refused("tools/call", { name: "x.c" })).code, -32602)
      yield* plain.close
      assert.deepStrictEqual(yield* names(client), ["a", "x.a", "x.b"])
    })
  )

  it.effect("A tool registry may need tasks only while a source or tool requires them", () =>
    Effect.gen(function* () {
      const { add, context } = yield* open
      const { mayNeedTask } = Context.get(context, Tools.ToolRegistry)
      const only = (name: string, task: "optional" | "required") =>
        Tools.layer(Tool.make(name, { description: "", task }), () => Effect.succeed(name))
      yield* add(only("either", "optional"))
      assert.isFalse(mayNeedTask())
      const required = yield* add(only("only", "required"))
      assert.isTrue(mayNeedTask())
      yield* required.close
      assert.isFalse(mayNeedTask())
      const mounted = yield* add(mount((yield* source("a")).source))
      assert.isTrue(mayNeedTask())
      yield* mounted.close
      assert.isFalse(mayNeedTask())
    })
  )

  it.effect("A mounted source serves a tool whose local namesake is hidden from the caller", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      yield* add(mount((yield* source("a")).source))
      yield* add(
        Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed("own"), { visible: () => false })
      )
      const client = yield* connect(server)
      assert.deepStrictEqual(yield* names(client), ["a"])
      assert.strictEqual((yield* client.call("a")).content[0].text, "mounted a")
    })
  )

  it.effect("Mounted prompts and resources also combine, and support subscriptions", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      const updates = yield* PubSub.unbounded<string>()
      const text = (value: string) => ({ contents: [{ uri: value, text: value }] })
      const prompts: Prompts.PromptSource = {
        list: Effect.succeed([{ name: "p" }]),
        get: ({ name }) => (name === "p" ? Effect.succeed({ messages: [Prompts.user("mounted")] }) : undefined),
        changes: Stream.never
      }
      const resources: Resources.ResourceSource = {
        list: Effect.succeed([{ uri: "x:1", name: "mounted" }]),
        templates: Effect.succeed([{ uriTemplate: "x:{a}", name: "mounted" }]),
        read: ({ uri }) => (uri.startsWith("x:") ? Effect.succeed(text(uri)) : undefined),
        watch: (uri) => (uri === "x:1" ? Stream.fromPubSub(updates) : undefined),
        matches: UriTemplate.matches,
        changes: Stream.never
      }
      yield* add(Prompts.layer(Prompt.make("p"), () => Effect.succeed("own")))
      yield* add(Resources.layer({ uri: "x:2", name: "own" }, Effect.succeed("own")))
      yield* add(
        Layer.effectDiscard(
          Effect.gen(function* () {
            const registry = yield* Prompts.PromptRegistry
            yield* registry.mount(prompts)
            yield* registry.mount(prompts, { prefix: "x." })
            yield* (yield* Resources.ResourceRegistry).mount(resources)
          })
        )
      )
      const client = yield* connect(server)
      const listed = (method: string, field: string) =>
        Effect.map(client.request(method), (result) => result[field].map((item: any) => item.name))
      assert.deepStrictEqual(yield* listed("prompts/list", "prompts"), ["p", "x.p"])
      assert.deepStrictEqual(yield* listed("resources/list", "resources"), ["own", "mounted"])
      assert.deepStrictEqual(yield* listed("resources/templates/list", "resourceTemplates"), ["mounted"])
      const get = (name: string) => client.request("prompts/get", { name })
      assert.strictEqual((yield* get("p")).messages[0].content.text, "own")
      assert.strictEqual((yield* get("x.p")).messages[0].content.text, "mounted")
      assert.strictEqual((yield* client.refused("prompts/get", { name: "x.q" })).code, -32602)
      const read = (uri: string) => client.request("resources/read", { uri })
      assert.strictEqual((yield* read("x:2")).contents[0].text, "own")
      assert.strictEqual((yield* read("x:3")).contents[0].text, "x:3")
      assert.strictEqual((yield* client.refused("resources/read", { uri: "y:3" })).code, -32002)
      yield* client.request("resources/subscribe", { uri: "x:1" })
      yield* quiesce
      yield* PubSub.publish(updates, "x")
      yield* quiesce
      assert.deepStrictEqual(
        client.notes("notifications/resources/updated").map((note) => note.params),
        [{ uri: "x:1" }]
      )
    })
  )

  it.effect("A mounted source reports a missing resource under its prefixed URI", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      const resources: Resources.ResourceSource = {
        list: Effect.succeed([]),
        templates: Effect.succeed([]),
        read: ({ uri }) => Resources.notFound(uri),
        watch: () => undefined,
        matches: UriTemplate.matches,
        changes: Stream.never
      }
      yield* add(
        Layer.effectDiscard(
          Effect.flatMap(Resources.ResourceRegistry, (registry) => registry.mount(resources, { prefix: "x+" }))
        )
      )
      const client = yield* connect(server)
      const error = yield* client.refused("resources/read", { uri: "x+test://a" })
      assert.deepStrictEqual([error.code, error.data], [-32002, { uri: "x+test://a" }])
      assert.include(error.message, "x+test://a")
    })
  )

  it.effect.each(everyVersion())(
    "A mounted source reports an unknown URI as %s, whichever code it uses itself",
    (version) =>
      Effect.gen(function* () {
        const { add, server } = yield* open
        const failing = (code: number, data: unknown): Resources.ResourceSource => ({
          list: Effect.succeed([]),
          templates: Effect.succeed([]),
          read: () => Effect.fail(new McpError.McpError({ code, message: "None", data })),
          watch: () => undefined,
          matches: UriTemplate.matches,
          changes: Stream.never
        })
        const code = version === "2026-07-28" ? McpError.InvalidParams : McpError.ResourceNotFound
        const uri = "test://a"
        for (const [prefix, source] of [
          [undefined, failing(McpError.ResourceNotFound, undefined)],
          ["x+", failing(McpError.ResourceNotFound, undefined)],
          ["y+", failing(McpError.InvalidParams, { uri })]
        ] as const) {
          const mounted = yield* add(
            Layer.effectDiscard(
              Effect.flatMap(Resources.ResourceRegistry, (registry) => registry.mount(source, prefix && { prefix }))
            )
          )
          const client = yield* connect(server, { version })
          const asked = `${prefix ?? ""}${uri}`
          const error = yield* client.refused("resources/read", { uri: asked })
          assert.deepStrictEqual([error.code, error.data], [code, { uri: asked }])
          yield* mounted.close
        }
      }),
    verifies("resources.read.former-code")
  )

  it.effect("Mounted sources forward their changes", () =>
    Effect.gen(function* () {
      const { add, server } = yield* open
      const one = yield* source("a")
      yield* add(mount(one.source))
      const client = yield* connect(server)
      yield* quiesce
      const before = client.notes("notifications/tools/list_changed").length
      yield* PubSub.publish(one.hub, undefined)
      yield* quiesce
      assert.strictEqual(client.notes("notifications/tools/list_changed").length, before + 1)
    })
  )
})

describe("Middleware", () => {
  const Add = Tool.make("add", { description: "", input: { a: Schema.Finite } })
  const add = Tools.layer(Add, ({ a }) => Effect.succeed(`${a + 1}`))

  it.effect("Middleware runs in registration order, around every request except the handshake and ping", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const named = (name: string) =>
        Middleware.layer((request, next) =>
          Effect.ensuring(
            Effect.andThen(
              Effect.sync(() => seen.push(`${name} ${request.method}`)),
              next
            ),
            Effect.sync(() => seen.push(`${name} done`))
          )
        )
      const client = yield* session(Layer.provideMerge(named("inner"), Layer.provideMerge(named("outer"), add)))
      yield* client.request("ping")
      assert.deepStrictEqual(seen, [])
      yield* client.request("tools/list")
      assert.deepStrictEqual(seen, ["outer tools/list", "inner tools/list", "inner done", "outer done"])
    })
  )

  it.effect("Middleware sees decoded params and the result, and can change the result or reject", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const client = yield* session(
        Layer.merge(
          add,
          Middleware.layer((request, next) => {
            if (request.method !== "tools/call") return next
            seen.push(request.params.arguments)
            return request.params.arguments?.a === 13
              ? Effect.fail(new McpError.McpError({ code: 4003, message: "Not that one" }))
              : Effect.map(next, (result) =>
                  isEncodedResult(result) ? result : { ...result, _meta: { audited: true } }
                )
          })
        )
      )
      assert.deepStrictEqual(yield* client.call("add", { a: 1 }), {
        content: [{ type: "text", text: "2" }],
        _meta: { audited: true }
      })
      assert.strictEqual((yield* client.refused("tools/call", { name: "add", arguments: { a: 13 } })).code, 4003)
      assert.deepStrictEqual(seen, [{ a: 1 }, { a: 13 }])
      // Params that cannot be decoded never reach middleware.
      yield* client.refused("tools/call", { name: 1 })
      assert.strictEqual(seen.length, 2)
    })
  )

  it.effect("Middleware can require services from its layer that handlers do not see", () =>
    Effect.gen(function* () {
      class Audit extends Context.Service<Audit, { readonly lines: Array<string> }>()("Audit") {}
      const lines: Array<string> = []
      const audit = Middleware.layer((request, next) =>
        Effect.andThen(
          Effect.map(Audit, (service) => service.lines.push(request.method)),
          next
        )
      )
      const probe = say(
        "probe",
        Effect.map(Effect.context<never>(), (context) => String(Context.getOrUndefined(context, Audit) === undefined))
      )
      const client = yield* session(Layer.merge(probe, Layer.provide(audit, Layer.succeed(Audit, { lines }))))
      assert.strictEqual((yield* client.call("probe")).content[0].text, "true")
      assert.deepStrictEqual(lines, ["tools/call"])
    })
  )

  it.effect("Middleware can replace the principal for everything inside it", () =>
    Effect.gen(function* () {
      const client = yield* session(
        Layer.merge(
          Tools.layer(
            Tool.make("who", { description: "" }),
            () => Effect.map(Principal, ({ subject }) => `${subject}`),
            {
              visible: ({ subject }) => subject === "ann"
            }
          ),
          Middleware.layer((_, next) =>
            Effect.provideService(next, Principal, { subject: "ann", scopes: [], claims: {} })
          )
        )
      )
      assert.deepStrictEqual(yield* names(client), ["who"])
      assert.strictEqual((yield* client.call("who")).content[0].text, "ann")
    })
  )

  it.effect("A middleware span surrounds the handler's span", () =>
    Effect.gen(function* () {
      const client = yield* session(
        Layer.merge(
          say(
            "span",
            Effect.map(Effect.orDie(Effect.currentParentSpan), (span) => (span._tag === "Span" ? span.name : "none"))
          ),
          Middleware.layer((request, next) => Effect.withSpan(next, request.method))
        )
      )
      assert.strictEqual((yield* client.call("span")).content[0].text, "tools/call")
    })
  )

  it.effect("Middleware is removed with its layer, after the requests it wraps", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const inside = yield* Latch.make()
      const go = yield* Latch.make()
      const { add: register, server } = yield* open
      yield* register(say("a"))
      const one = yield* register(
        Layer.provide(
          Middleware.layer((_, next) => Effect.andThen(Effect.andThen(inside.open, go.await), next)),
          Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => events.push("released"))))
        )
      )
      const client = yield* connect(server)
      const call = yield* Effect.forkChild(client.call("a"), { startImmediately: true })
      yield* inside.await
      const closing = yield* Effect.forkChild(one.close, { startImmediately: true })
      yield* quiesce
      assert.deepStrictEqual(events, [])
      yield* go.open
      yield* Fiber.join(call)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(events, ["released"])
      yield* go.close
      assert.strictEqual((yield* client.call("a")).content[0].text, "a")
    })
  )
})
