/** Views in a real browser, and a server of another origin that counts its visitors. */
import * as AppTest from "@effect-mcp/apps/AppTest"
import type * as AppHost from "@effect-mcp/apps/AppHost"
import { needs } from "@effect-mcp/spec/skip"
import { Effect, type Scope } from "effect"
import { createServer, type Server } from "node:http"

/** Options of a suite that needs Chromium. */
export const needsChromium = needs(AppTest.missing === undefined, AppTest.missing ?? "")

const address = (server: Server): string => {
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
}

/** Starts a server with another origin, which any page may read. */
export const otherOrigin: Effect.Effect<
  { readonly origin: string; readonly visits: ReadonlyArray<string> },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const visits: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Server>((resolve) => {
          const server = createServer((request, response) => {
            visits.push(request.url ?? "")
            response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/plain" }).end("reached")
          }).listen(0, "127.0.0.1", () => resolve(server))
        })
    ),
    (server) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          })
      )
  )
  return { origin: address(server), visits }
})

/** The data of a view's log message. */
export const logged = ({ from, message }: AppHost.PassedMessage): unknown => {
  if (from !== "view" || typeof message !== "object" || message === null) return undefined
  if (!("method" in message) || message.method !== "notifications/message" || !("params" in message)) return undefined
  const { params } = message
  return typeof params === "object" && params !== null && "data" in params ? params.data : undefined
}

/**
 * A page that talks to its host without any library: it introduces itself, runs `script` as the body of an async function, and logs what that
 * returns or throws. The script has `ask(method, params)`, `send(message)` and `other`, the other origin.
 */
export const pageOf = (script: string, other: string, head = ""): string => `<!doctype html>
<html><head><title>Hostile</title>${head}</head><body>
<script>
const other = ${JSON.stringify(other)}
const waiting = new Map()
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*")
const ask = (method, params = {}) => new Promise((resolve) => {
  const id = waiting.size + 1
  waiting.set(id, resolve)
  send({ id, method, params })
})
const say = (data) => send({ method: "notifications/message", params: { level: "info", data } })
/** Resolves with the name of the event that ends the loading of an element. */
const loading = (element) => new Promise((resolve) => {
  element.onload = () => resolve("loaded")
  element.onerror = () => resolve("blocked")
  document.body.append(element)
})
/** Resolves with the directive that blocks a request. A script that is not blocked would otherwise wait until the test times out. */
const violation = () => new Promise((resolve) => {
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective), { once: true })
  setTimeout(() => resolve("nothing blocked it"), 3000)
})
addEventListener("message", ({ data }) => waiting.get(data?.id)?.(data))
ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "hostile", version: "1" }, appCapabilities: {} }).then(async () => {
  send({ method: "ui/notifications/initialized" })
  try {
    say((await (async () => { ${script} })()) ?? "returned nothing")
  } catch (error) {
    say("threw " + error.name)
  }
})
</script>
</body></html>`
