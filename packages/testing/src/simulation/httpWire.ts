/** HTTP without sockets: a `fetch` that calls a server's web handler. A `Stage` decides which exchanges are late or cut. */
import * as McpServer from "@effect-mcp/server/McpServer"
import { layerRouter, layerSse } from "@effect-mcp/server/internal/sharing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { Stage } from "./Stage.ts"

/** Address of the simulated server. */
export const url = "http://localhost/mcp"

type Handler = (request: Request) => Promise<Response>

/** The handler that serves this address. */
const endpoints = { http: layerRouter, sse: layerSse }

/** Turns the server in the context into a web handler on the driver of the stage. */
export const handlerOf = (
  stage: Stage,
  transport: keyof typeof endpoints
): Effect.Effect<Handler, never, McpServer.McpServer | Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* McpServer.McpServer
    const services = Context.add(stage.driver.context, Random.Random, yield* Random.Random)
    const app = Layer.provideMerge(
      Layer.provide(endpoints[transport]({ path: "/mcp" }), Layer.succeed(McpServer.McpServer, server)),
      Layer.succeedContext(services)
    )
    const { dispose, handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
    yield* Effect.addFinalizer(() => Effect.promise(dispose))
    return handler
  })

const textOf = (body: RequestInit["body"]): string =>
  typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : ""

/** Creates a client's `fetch`. Calls `checked` before delivering each request and each piece of a response. */
export const fetchOf = (stage: Stage, client: string, handler: Handler, checked: Effect.Effect<void>): typeof fetch => {
  const run = Effect.runPromiseWith(stage.driver.context)
  let exchanges = 0
  const arrives = async (place: string, number: number, what: string, text: string): Promise<boolean> => {
    const outcome = await run(stage.arrival(place, number, what))
    if (outcome === "cut") {
      stage.cut.add(client)
      stage.trace.add(`-- ${place}: cut`)
      return false
    }
    stage.trace.add(`${place} ${text}`)
    await run(checked)
    return true
  }
  const cutting = () => new TypeError("The connection was cut")
  return async (input, init) => {
    const place = `${client} ${++exchanges}`
    const request = new Request(input, init)
    const { method, signal } = request
    if (!(await arrives(`${place} >`, 1, `its ${method}`, `${method} ${textOf(init?.body)}`))) throw cutting()
    if (signal.aborted) throw signal.reason
    const server = new AbortController()
    signal.addEventListener("abort", () => server.abort(signal.reason))
    const answered = handler(new Request(request, { signal: server.signal }))
    const response = await Promise.race([answered, aborted(signal)])
    let pieces = 1
    if (!(await arrives(`${place} <`, 1, "its response", `${response.status}`))) {
      await response.body?.cancel()
      throw cutting()
    }
    const decoder = new TextDecoder()
    const body = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: async (piece, controller) => {
          const text = decoder.decode(piece, { stream: true }).trimEnd()
          if (await arrives(`${place} <`, ++pieces, "a piece of its response", text)) controller.enqueue(piece)
          else controller.error(cutting())
        }
      })
    )
    return new Response(body ?? null, response)
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))
