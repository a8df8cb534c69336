/** The procedures of an RpcGroup as tools, in every revision: in process, and of a server over HTTP. */
import { RpcTools } from "@effect-mcp/bridge"
import { Tool } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { Rpc, RpcClient, RpcGroup, RpcMiddleware, RpcSerialization, RpcServer } from "effect/rpc"
import { createServer } from "node:http"

class NoSuchUser extends Schema.TaggedError<NoSuchUser>()("NoSuchUser", { id: Schema.Finite }) {}
class Denied extends Schema.TaggedError<Denied>()("Denied", { why: Schema.String }) {}
class Guard extends RpcMiddleware.Service<Guard>()("test/Guard", { error: Denied }) {}

const User = Schema.Struct({ id: Schema.Finite, born: Schema.Date })
const Users = RpcGroup.make(
  Rpc.make("GetUser", { payload: { id: Schema.Finite }, success: User, error: NoSuchUser }),
  Rpc.make("Echo", { payload: Schema.Array(Schema.String), success: Schema.String }),
  Rpc.make("Reset"),
  Rpc.make("Hang"),
  Rpc.make("Watch", { success: Schema.Finite, stream: true }),
  Rpc.make("Guarded", { success: Schema.String }).middleware(Guard)
)

const interrupted = Deferred.makeUnsafe<void>()
const began = Deferred.makeUnsafe<void>()
let resets = 0
const handlers = Users.toLayer({
  GetUser: ({ id }) =>
    id === 1 ? Effect.succeed({ id, born: new Date("1815-12-10") }) : Effect.fail(new NoSuchUser({ id })),
  Echo: (words) => Effect.succeed(words.join(" ")),
  Reset: () => Effect.sync(() => void resets++),
  Hang: () =>
    Effect.andThen(Deferred.succeed(began, undefined), Effect.never).pipe(
      Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
    ),
  Watch: () => Stream.make(1),
  Guarded: () => Effect.succeed("never")
})
const guard = Layer.succeed(Guard, () => Effect.fail(new Denied({ why: "closed" })))
const procedures = {
  GetUser: { name: "get_user", description: "Finds a user", annotations: { readOnlyHint: true } },
  Echo: true,
  Reset: true,
  Hang: true,
  Guarded: true
} as const
const features = RpcTools.layer(Users, { procedures }).pipe(Layer.provide([handlers, guard]))

const textOf = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

describe.each(Revision.all)("RpcGroup procedures as tools, $version", (revision) => {
  it.effect("A procedure's tool accepts its payload and returns its success, with the same schemas", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const GetUser = Tool.make("get_user", {
        description: "",
        input: { id: Schema.Finite },
        output: User,
        failure: NoSuchUser
      })
      const { born } = yield* client.callTool(GetUser, { id: 1 })
      assert.strictEqual(born.getUTCFullYear(), 1815)
      const error = yield* Effect.flip(client.callTool(GetUser, { id: 2 }))
      assert(error instanceof NoSuchUser)
      assert.strictEqual(textOf(yield* client.callToolByName("Echo", { payload: ["a", "b"] })), "a b")
      const before = resets
      assert.deepStrictEqual((yield* client.callToolByName("Reset")).content, [])
      assert.strictEqual(resets, before + 1)
      const guarded = yield* client.callToolByName("Guarded")
      assert.isTrue(guarded.isError)
      assert.include(JSON.stringify(guarded), "closed")
      const tools = yield* Stream.runCollect(client.listTools)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["get_user", "Echo", "Reset", "Hang", "Guarded"]
      )
    })
  )
})

describe("RpcGroup", () => {
  it.effect("Cancelling a tool call interrupts its procedure", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, "2025-11-25")
      const call = yield* Effect.forkChild(client.callToolByName("Hang"))
      yield* Deferred.await(began)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(interrupted)
    })
  )

  it.effect("An RpcGroup with a streaming procedure is rejected", () =>
    Effect.gen(function* () {
      const streaming = RpcTools.layer(Users, { procedures: { Watch: true } }).pipe(Layer.provide([handlers, guard]))
      const exit = yield* Effect.exit(McpTest.connect(streaming, "2025-11-25"))
      assert.include(String(exit), "The procedure Watch cannot be a tool because it responds with a stream")
    })
  )

  it.live("A server's RpcGroup is called over HTTP and hides failure details from its caller", () =>
    Effect.gen(function* () {
      const app = RpcServer.layerHttp({ group: Users, path: "/rpc", protocol: "http" }).pipe(
        Layer.provide([handlers, guard, RpcSerialization.layerJson])
      )
      const context = yield* Layer.build(
        Layer.provideMerge(
          HttpRouter.serve(app, { disableLogger: true, disableListenLog: true }),
          NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
        )
      )
      const { address } = Context.get(context, HttpServer.HttpServer)
      assert(address._tag !== "UnixPathAddress")
      const at = (url: string) =>
        RpcTools.layerClient(Users, { procedures }).pipe(
          Layer.provide(RpcClient.layerProtocolHttp({ url })),
          Layer.provide([FetchHttpClient.layer, RpcSerialization.layerJson])
        )
      const client = yield* McpTest.connect(at(`http://127.0.0.1:${address.port}/rpc`), "2026-07-28")
      const { structuredContent } = yield* client.callToolByName("get_user", { id: 1 })
      assert.deepStrictEqual(structuredContent, { id: 1, born: "1815-12-10T00:00:00.000Z" })
      const failed = yield* client.callToolByName("get_user", { id: 2 })
      assert.isTrue(failed.isError)
      const gone = yield* McpTest.connect(at("http://127.0.0.1:1/rpc"), "2026-07-28")
      assert.strictEqual(textOf(yield* gone.callToolByName("Echo", { payload: [] })), "The procedure Echo failed")
    })
  )
})
