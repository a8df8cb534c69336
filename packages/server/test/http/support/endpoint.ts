/** An endpoint without a platform: requests are values, and responses are written to memory at once. */
import type { Principal } from "@effect-mcp/core/Principal"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Endpoint from "../../../src/http/Endpoint.ts"
import { SseHttpBody } from "../../../src/http/response/SseBody.ts"
import { type EventStore } from "@effect-mcp/server/EventStore"
import { Effect, Layer } from "effect"
import type { HttpRequest } from "../../../src/http/request/HttpRequest.ts"
import type { HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"

export interface Sent {
  readonly method?: string
  readonly headers?: HttpRequest["headers"]
  readonly principal?: Principal["Service"] | undefined
  readonly address?: string
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown
}

/** An event with its position in the stream. */
export interface Placed {
  readonly stream: string
  readonly seq: number
  /** Undefined for a priming event. */
  readonly message: any
}

const eventOf = (text: string): Placed | undefined => {
  const [, stream, seq] = /^id: (\w+)-(\d+)$/m.exec(text) ?? []
  const [, data = ""] = /^data: (.*)$/m.exec(text) ?? []
  if (stream === undefined) return undefined
  return { stream, seq: Number(seq), message: data === "" ? undefined : JSON.parse(data) }
}

/** A request and its response. */
export class Exchange {
  status: number | undefined = undefined
  headers: { readonly [name: string]: string | undefined } = {}
  text = ""
  over = false
  leave: () => void = () => {}

  get json(): any {
    return JSON.parse(this.text)
  }

  get events(): ReadonlyArray<Placed> {
    return this.text.split("\n\n").flatMap((event) => eventOf(event) ?? [])
  }
}

/** Runs fibers until `is` returns true. */
export const until = (is: () => boolean, what: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (is()) return Effect.void
    let turns = 0
    return Effect.repeat(
      Effect.sync(() => turns++).pipe(Effect.andThen(Effect.promise(() => new Promise(setImmediate)))),
      { until: () => is() || turns > 2000 }
    ).pipe(Effect.andThen(Effect.sync(() => is() || fail(what))), Effect.asVoid)
  })
const fail = (what: string): never => {
  throw new Error(`It never came to this: ${what}`)
}

/** Serves features in the scope. */
export const make = Effect.fnUntraced(function* <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  options: Endpoint.Options = {},
  store: Layer.Layer<EventStore> | Layer.Layer<never> = Layer.empty,
  change: (server: McpServer.McpServer["Service"]) => McpServer.McpServer["Service"] = (server) => server
) {
  const free = { rateLimit: false, limits: { tool: { time: "365 days" } } } as const
  const server = Layer.fresh(McpServer.layer({ name: "test", version: "1", features, ...free }))
  const context = yield* Layer.build(Layer.merge(server, store))
  const service = change(yield* Effect.provide(McpServer.McpServer, context))
  const endpoint: Endpoint.Endpoint = yield* Endpoint.make(options).pipe(
    Effect.provideService(McpServer.McpServer, service),
    Effect.provide(context)
  )
  const { exchanges: inFlight, other, post, refusal } = endpoint
  const exchanges = new Set<Exchange>()
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      for (const exchange of exchanges) exchange.leave()
      const ending = yield* Effect.forkDetach(endpoint.end(), { startImmediately: true })
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => ending.pollUnsafe() !== undefined, times: 60 })
    })
  )

  /** Starts a request. Its body is delivered when `arrive` is called. */
  const begin = ({ address, body, headers = {}, method = "POST", principal }: Sent) => {
    const asked: HttpRequest = {
      method,
      headers: {
        host: "localhost",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers
      },
      originalUrl: "/mcp",
      principal,
      address,
      span: undefined
    }
    const exchange = new Exchange()
    exchanges.add(exchange)
    const write = ({ body, headers, status }: HttpServerResponse.HttpServerResponse, leave: () => void): void => {
      exchange.status = status
      exchange.headers = headers
      const over = (): void => {
        exchange.over = true
        leave()
      }
      if (body instanceof SseHttpBody) {
        const { keepAlive, sse } = body
        const outlet = { write: (text: string) => void (exchange.text += text), end: over, destroy: over }
        sse.drive(keepAlive, outlet, over)
        return
      }
      if (body._tag === "Uint8Array") exchange.text = new TextDecoder().decode(body.body)
      over()
    }
    const refused = refusal(asked)
    if (refused !== undefined) {
      write(refused, () => {})
      return { exchange, arrive: Effect.succeed(exchange) }
    }
    const entered = method === "POST" ? inFlight.enter(() => {}, asked) : inFlight.open(() => {}, asked)
    const answer = Effect.suspend(() => {
      const text = typeof body === "string" ? body : JSON.stringify(body)
      return method === "POST" ? post(asked, new TextEncoder().encode(text), entered) : other(asked, entered)
    })
    exchange.leave = () => inFlight.leave(entered)
    const arrive = Effect.gen(function* () {
      const run = Effect.map(answer, (response) => write(response, () => inFlight.leave(entered)))
      const fiber = yield* Effect.forkDetach(run, { startImmediately: true })
      exchange.leave = () => {
        fiber.interruptUnsafe()
        exchange.over = true
        inFlight.leave(entered)
      }
      return exchange
    })
    return { exchange, arrive }
  }
  const send = (sent: Sent): Effect.Effect<Exchange> => begin(sent).arrive
  /** Sends a request and waits for the status. */
  const ask = (sent: Sent): Effect.Effect<Exchange> =>
    Effect.tap(send(sent), (exchange) => until(() => exchange.status !== undefined, "a status"))
  const openSessions = (): number => Effect.runSync(service.sessions).length
  return { ...endpoint, server: service, openSessions, begin, send, ask }
})
export type InMemory = Effect.Success<ReturnType<typeof make>>
