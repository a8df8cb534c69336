/**
 * A local page to try any MCP server: its tools and resources, calls with forms, questions, progress, tasks, and the messages on the wire.
 *
 * The page is served to this machine only. Its path contains a random token; requests for other host names and from pages of other origins
 * are rejected. Everything from the server is shown as text: a policy lets the page run its own program only, and load nothing from
 * elsewhere.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import type * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { randomBytes } from "node:crypto"
import { html } from "./assets/html.ts"
import { program } from "./assets/program.ts"
import { css } from "./assets/style.ts"
import { PageCommand } from "./messages/Commands.ts"
import type { UiEvent } from "./messages/Events.ts"
import type { Options } from "./session/Options.ts"
import * as Session from "./session/Session.ts"

export type { Hooks, Options, ViewedCall } from "./session/Options.ts"

/**
 * Maximum size of the events waiting for a page, in characters. A page that reads too slowly is disconnected; it reconnects and starts from
 * a new snapshot.
 */
const mostWaiting = 64 * 1024 * 1024
const mostBody = 16n * 1024n * 1024n

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data: blob:",
  "media-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const headers = {
  "cache-control": "no-store",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** Headers of the page itself. It shows views in frames: they have other ports of this machine, which are not known yet. */
const headersOf = (hasViews: boolean) =>
  hasViews ? { ...headers, "content-security-policy": `${policy}; frame-src http://127.0.0.1:*` } : headers

const file = (contentType: string, text: string) => HttpServerResponse.text(text, { contentType, headers })
const json = (body: { readonly [name: string]: unknown }, status = 200) =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json", headers })
const refused = (status: number) => HttpServerResponse.empty({ status, headers })

const encoder = new TextEncoder()

/** A page's stream. Heartbeats keep the connection open and detect a page that is gone. */
const events = ({ board }: Session.UiSession) => {
  let waiting = 0
  const followed = Stream.callback<string>(
    (queue) => {
      const offer = (event: UiEvent): void => {
        const text = JSON.stringify(event)
        const isFull = waiting > 0 && waiting + text.length > mostWaiting
        if (isFull) return void Queue.endUnsafe(queue)
        if (Queue.offerUnsafe(queue, text)) waiting += text.length
      }
      const following = Effect.acquireRelease(
        Effect.sync(() => board.follow(offer)),
        (leave) => Effect.sync(leave)
      )
      return Effect.andThen(following, Effect.never)
    },
    { bufferSize: Number.POSITIVE_INFINITY }
  )
  const body = Stream.merge(
    Stream.map(followed, (text) => {
      waiting -= text.length
      return encoder.encode(`data: ${text}\n\n`)
    }),
    Stream.map(Stream.tick("15 seconds"), () => encoder.encode(": \n\n")),
    { haltStrategy: "left" }
  )
  return HttpServerResponse.stream(body, { contentType: "text/event-stream", headers })
}

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(PageCommand))

const posted = Effect.fnUntraced(
  function* ({ perform }: Session.UiSession) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const text = yield* request.text
    const command = yield* decode(text)
    return json(yield* perform(command))
  },
  Effect.catch(({ message }) => Effect.succeed(json({ error: message }, 400)))
)

/** Answers the page's requests, and no others. */
const answering = (session: Session.UiSession, token: string, authority: string) => {
  const base = `/${token}/`
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { headers, method, url } = request
    // Another site may reach this port by another name, or send requests from its pages.
    if (headers["host"] !== authority) return refused(403)
    if (!["same-origin", "none", undefined].includes(headers["sec-fetch-site"])) return refused(403)
    const [path = ""] = url.split("?")
    if (!path.startsWith(base)) return refused(404)
    const name = path.slice(base.length)
    if (method === "POST" && name === "command") {
      return headers["origin"] === `http://${authority}` ? yield* posted(session) : refused(403)
    }
    if (method !== "GET") return refused(405)
    switch (name) {
      case "":
        return HttpServerResponse.text(html, {
          contentType: "text/html; charset=utf-8",
          headers: headersOf(session.board.state.name.hasViews)
        })
      case "main.js":
        return file("text/javascript; charset=utf-8", yield* program)
      case "style.css":
        return file("text/css; charset=utf-8", css)
      case "events":
        return events(session)
      default:
        return refused(404)
    }
  })
}

/** A page that is being served. */
export interface ServedUi {
  /** URL of the page, which contains its token. */
  readonly url: string
}

/**
 * Serves the page on the `HttpServer` in the context, which must listen on 127.0.0.1, and connects to the server. Ends with the scope.
 *
 * @example
 * ```ts
 * import * as Stdio from "@effect-mcp/client/Stdio"
 * import { Ui } from "@effect-mcp/ui"
 * import { NodeHttpServer, NodeServices } from "@effect/platform-node"
 * import { Console, Effect } from "effect"
 * import { createServer } from "node:http"
 *
 * const command = "node"
 * const args = ["server.js"]
 *
 * export const program = Effect.gen(function* () {
 *   const { url } = yield* Ui.serve({
 *     name: "node server.js",
 *     words: [command, ...args],
 *     connect: ({ words }) => Effect.tap(Stdio.open({ command, args }), ({ stderr }) => words(stderr))
 *   })
 *   yield* Console.log(url)
 *   return yield* Effect.never
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide([NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }), NodeServices.layer])
 * )
 * ```
 */
export const serve = Effect.fnUntraced(function* <R>(
  options: Options<R>
): Effect.fn.Return<ServedUi, never, R | FileSystem.FileSystem | HttpServer.HttpServer | Path.Path | Scope.Scope> {
  const token = randomBytes(24).toString("base64url")
  const { address } = yield* HttpServer.HttpServer
  // A browser omits port 80.
  const { host: authority } = new URL(
    address._tag === "UnixPathAddress" ? "http://localhost" : `http://127.0.0.1:${address.port}`
  )
  const session = yield* Session.make(options, `http://${authority}`)
  yield* HttpServer.serveEffect(
    Effect.provideService(answering(session, token, authority), HttpIncomingMessage.MaxBodySize, mostBody)
  )
  return { url: `http://${authority}/${token}/` }
})
