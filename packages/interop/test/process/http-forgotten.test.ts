/** Our client, and third-party servers that forget their sessions when they restart. */
import { McpClient } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Queue, Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { start } from "../support/http-server.ts"
import { fileOf } from "../support/our-client.ts"

interface Peer {
  readonly name: string
  readonly file: string
  /** Its answer to an unknown session, if it can be configured. */
  readonly unknown?: string
  readonly call: readonly [tool: string, args: { readonly [name: string]: string }]
}

const echo: Peer["call"] = ["echo", { message: "hello" }]
const sdks = [
  ["v1", "sdk-v1-http-server.ts"],
  ["v2", "sdk-v2-http-server.ts"]
] as const

const peers: ReadonlyArray<Peer> = [
  ...sdks.flatMap(([sdk, file]) => [
    { name: `the SDK ${sdk}, as its examples used to be written`, file, unknown: "400", call: echo },
    {
      name: `the SDK ${sdk}, which reports itself that it was never initialized`,
      file,
      unknown: "uninitialized",
      call: echo
    }
  ]),
  { name: "the SDK v1, as in one of its examples", file: "sdk-v1-example.ts", call: ["greet", { name: "you" }] },
  { name: "the SDK v1 reference server", file: "server-everything-http.ts", call: echo }
]

const connect = Effect.fnUntraced(function* (url: string) {
  const sent: Array<string> = []
  const counting: typeof fetch = (input, init) => {
    const body = init?.body instanceof Uint8Array ? new TextDecoder().decode(init.body) : "{}"
    sent.push((JSON.parse(body) as { method?: string }).method ?? "")
    return fetch(input, init)
  }
  const layer = McpClient.layerHttp({ url, revisions: ["2025-11-25"] }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, counting))
  )
  const client = Context.get(yield* Layer.build(layer), McpClient.McpClient)
  return { client, sessions: () => sent.filter((method) => method === "initialize").length }
})

/** A server with a client that has a session; `restart` ends the process and starts another at the same place. */
const scene = Effect.fnUntraced(function* ({ file, unknown = "" }: Pick<Peer, "file" | "unknown">) {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const { terminate, url } = yield* Scope.provide(start([fileOf(`../fixtures/${file}`), "0", unknown]), scope)
  const restart = terminate.pipe(
    Effect.andThen(Scope.close(scope, Exit.void)),
    Effect.andThen(start([fileOf(`../fixtures/${file}`), new URL(url).port, unknown]))
  )
  return { ...(yield* connect(url)), restart }
})

describe.each(peers)("Restarting a server built with $name", ({ call: [tool, args], file, unknown }) => {
  it.live("All waiting requests share a single new session after a restart", () =>
    Effect.gen(function* () {
      const { client, restart, sessions } = yield* scene({ file, unknown: unknown ?? "" })
      const first = yield* client.callToolByName(tool, args)
      yield* restart
      const calls = yield* Effect.all(
        Array.from({ length: 5 }, () => client.callToolByName(tool, args)),
        { concurrency: "unbounded" }
      )
      for (const { content } of calls) assert.deepStrictEqual(content, first.content)
      assert.strictEqual(sessions(), 2)
    })
  )
})

describe.each(sdks)("Servers built with the SDK %s", (_, file) => {
  it.live("A client that only watches notices a server restart", () =>
    Effect.gen(function* () {
      const { client, restart, sessions } = yield* scene({ file, unknown: "400" })
      const events = yield* Queue.unbounded<McpClient.WatchEvent>()
      yield* Effect.forkScoped(
        Stream.runForEach(client.watchResource("fixture://text"), (event) => Queue.offer(events, event))
      )
      assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
      yield* restart
      assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
      yield* client.callToolByName("touch")
      assert.strictEqual((yield* Queue.take(events))._tag, "Updated")
      assert.strictEqual(sessions(), 2)
    })
  )

  it.live("A server that has lost its sessions is not asked for one session after another", () =>
    Effect.gen(function* () {
      const { client, sessions } = yield* scene({ file, unknown: "never" })
      const error = yield* Effect.flip(client.callToolByName(...echo))
      assert.deepInclude(error._tag === "Closed" && error.cause, { reason: "SessionLost", status: 400 })
      assert.include(error.message, "No valid session ID")
      assert.isAtMost(sessions(), 3)
    })
  )
})
