/** Raw HTTP: a client on node:http that reads when told to. */
import { Effect } from "effect"
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request as begin } from "node:http"

export interface Sent {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: object
}

export interface Body {
  readonly bytes: number
  /** How often it contained the mark. */
  readonly marks: number
  /** Its last characters. */
  readonly tail: string
  /** True if the body ended completely. */
  readonly complete: boolean
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The first text that arrives; nothing is read after it. */
  readonly first: Effect.Effect<string>
  /** Reads to the end, or up to a text if that comes sooner, and reports on everything from the beginning. */
  readonly read: (until?: string) => Effect.Effect<Body>
}

export const json = { "content-type": "application/json", accept: "application/json, text/event-stream" }

export const requestOf = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params })
export const initialize = (protocolVersion: string) =>
  requestOf(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } })
export const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }

/**
 * Returns once the headers arrive; the body is read only on request. `mark`: a text to count, which must not repeat within itself.
 */
export const send = (
  url: string,
  { body, headers = json, method = "POST" }: Sent = {},
  mark = "data: "
): Effect.Effect<Reply> =>
  Effect.callback((resume) => {
    const request = begin(url, { method, headers, agent: false }, (response) => {
      let bytes = 0
      let marks = 0
      let tail = ""
      response.on("error", () => {})
      response.setEncoding("utf8")
      response.pause()
      response.on("data", (chunk: string) => {
        bytes += chunk.length
        // Joins text that was split between two chunks.
        const text = tail.slice(-mark.length + 1) + chunk
        for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) marks++
        tail = (tail + chunk).slice(-200)
      })
      resume(
        Effect.succeed({
          status: response.statusCode ?? 0,
          headers: response.headers,
          first: Effect.callback((resume) => {
            response.once("data", (chunk: string) => {
              response.pause()
              resume(Effect.succeed(chunk))
            })
            response.resume()
          }),
          read: (until) =>
            Effect.callback((resume) => {
              const done = () => resume(Effect.succeed({ bytes, marks, tail, complete: response.complete }))
              if (response.destroyed) return done()
              response.on("close", done)
              if (until !== undefined) response.on("data", () => tail.includes(until) && done())
              return void response.resume()
            })
        })
      )
    })
    request.on("error", (error) => resume(Effect.die(error)))
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
