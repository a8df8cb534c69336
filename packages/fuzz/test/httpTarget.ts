/** The small server over in-memory HTTP: correct, or with faulty code between it and its clients. */
import { McpServer } from "@effect-mcp/server"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { Effect } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { server } from "./server.ts"

export type Json = any

/** One HTTP request on its way to the server. */
export interface Passing {
  readonly request: Request
  /** The message in its body, or `undefined` if there is none. */
  readonly message: Json
  /** Returns the server's response. Optionally replaces headers (null removes one) and the message. */
  readonly next: (headers?: { readonly [name: string]: string | null }, message?: Json) => Promise<Response>
}

/** Code between client and server, created for each server. */
export type Between = () => (passing: Passing) => Promise<Response> | undefined

export const path = "http://127.0.0.1/mcp"

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Creates a `fetch` handler that works until the scope closes. */
const serving = (served: typeof server): McpServer.WebHandler => McpServer.toWebHandler(served, { path: "/mcp" })

/** Creates an HTTP target from a server. Default: the small server. */
export const target = Effect.fnUntraced(function* (
  between?: Between,
  served = server,
  { serve = serving, ...options }: Partial<Parameters<typeof Fuzz.http>[0]> & { readonly serve?: typeof serving } = {}
) {
  const { handler } = yield* Effect.acquireRelease(
    Effect.sync(() => serve(served)),
    ({ dispose }) => Effect.promise(() => dispose())
  )
  const pass = between?.()
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    if (pass === undefined) return handler(request)
    const body = request.method === "POST" ? await request.clone().text() : undefined
    const next: Passing["next"] = (changes = {}, message) => {
      const headers = new Headers(request.headers)
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) headers.delete(name)
        else headers.set(name, value)
      }
      return handler(
        new Request(request.url, {
          method: request.method,
          headers,
          body: message === undefined ? (body ?? null) : JSON.stringify(message),
          signal: request.signal
        })
      )
    }
    return pass({ request, message: body === undefined ? undefined : parsed(body), next }) ?? next()
  }
  return yield* Fuzz.http({ url: path, ...options }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.map((target): Fuzz.HttpTarget => ({
      ...target,
      open: Effect.provideService(target.open, FetchHttpClient.Fetch, fetch),
      stranger: target.stranger && Effect.provideService(target.stranger, FetchHttpClient.Fetch, fetch)
    }))
  )
})
