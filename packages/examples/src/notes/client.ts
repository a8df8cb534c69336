/**
 * A client as a program: `node client.ts URL [--yes]` adds a note. The user logs in with the browser when the server demands it, and
 * again when a tool needs another scope. With `--yes` there is no browser, and every question is accepted.
 */
import {
  AuthorizationCode,
  Authorizer,
  Loopback,
  OAuth,
  TokenStore
} from "@effect-mcp/auth"
import { McpClient } from "@effect-mcp/client"
import {
  NodeHttpServer,
  NodeRuntime,
  NodeServices
} from "@effect/platform-node"
import { Console, Effect, Layer, Ref } from "effect"
import { type Cookies, FetchHttpClient, HttpClient } from "effect/http"
import { createServer } from "node:http"
import { AddNote, ListNotes } from "./notes.ts"

const [url = "http://127.0.0.1:9401/mcp", yes] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const notes = yield* McpClient.McpClient
  yield* Console.log(
    `Before: ${JSON.stringify(yield* notes.callTool(ListNotes, {}))}`
  )
  const { count } = yield* notes.callTool(AddNote, { text: "Water the plants" })
  yield* Console.log(`Notes: ${count}`)
  const login = yield* (yield* OAuth.OAuth).whoami(url)
  yield* Console.log(`Granted: ${login?.scopes.join(" ")}`)
})

/** Opens the system's browser, and listens on a local port for the redirect. */
const browser = Loopback.layerBrowser({
  server: NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
})

/** Keeps cookies, as a browser would. */
const cookies = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    const jar = yield* Ref.make<ReadonlyArray<Cookies.Cookie>>([])
    return HttpClient.withCookiesRef(yield* HttpClient.HttpClient, jar)
  })
).pipe(Layer.provide(FetchHttpClient.layer))

const user =
  yes === "--yes"
    ? Authorizer.layerScripted().pipe(Layer.provide(cookies))
    : browser

const oauth = OAuth.layer({
  grant: AuthorizationCode.make({ clientName: "Notes example" })
}).pipe(Layer.provide([user, TokenStore.layerMemory, FetchHttpClient.layer]))

program.pipe(
  Effect.provide(
    McpClient.layerHttp({ url }).pipe(
      Layer.provideMerge(oauth),
      Layer.provide(NodeServices.layer)
    )
  ),
  NodeRuntime.runMain
)
