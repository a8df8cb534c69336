/** This project's client as a target: correct, or behind a `fetch` that breaks one rule. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { Effect, Layer, Logger, Stream } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"

type Json = any

/** One HTTP request on its way to the server. */
export interface Outgoing {
  readonly method: string
  readonly headers: Headers
  /** The message in its body, or `undefined` if there is none. */
  readonly message: Json
  /** Sends the request, with its message or another one. */
  readonly send: (message?: Json) => Promise<Response>
}

/** Code between client and server, created for each conversation. */
export type Between = () => (outgoing: Outgoing) => Promise<Response>

const through = (between: Between, fetch: typeof globalThis.fetch): typeof globalThis.fetch => {
  const pass = between()
  return async (input, init) => {
    const request = new Request(input, init)
    const body = await request.text()
    const { headers, method, signal, url } = request
    const send = (message: Json = body === "" ? undefined : JSON.parse(body)) =>
      fetch(url, {
        method,
        headers,
        signal,
        ...(message === undefined ? undefined : { body: JSON.stringify(message) })
      })
    return pass({ method, headers, message: body === "" ? undefined : JSON.parse(body), send })
  }
}

const model = Sampling.layer(() =>
  Effect.succeed({ role: "assistant", content: { type: "text", text: "fuzz" }, model: "fuzz" })
)

const user = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "fuzz" } }) })

/** Lists everything, and uses one of each. */
export const tour = Effect.gen(function* () {
  const client = yield* McpClient.McpClient
  const tools = yield* Stream.runCollect(client.listTools)
  if (tools.some(({ name }) => name === "add_numbers")) yield* client.callToolByName("add_numbers", { a: 1, b: 2 })
  for (const { uri } of yield* Stream.runCollect(client.listResources)) yield* client.readResource(uri)
  for (const { name } of yield* Stream.runCollect(client.listPrompts)) yield* client.getPromptByName(name, {})
})

/** Answers the client's questions and logs nothing. */
export const quiet = Layer.mergeAll(user, model, Logger.layer([]))

export const ours = (between?: Between) =>
  FuzzClient.client("our client", ({ fetch, revision, url }) => {
    const client = McpClient.layerHttp({ url, revisions: [revision] })
    const http = between === undefined ? fetch : through(between, fetch)
    return tour.pipe(
      Effect.provide(Layer.provide(client, [FetchHttpClient.layer, quiet])),
      Effect.provideService(FetchHttpClient.Fetch, http),
      Effect.provide(quiet)
    )
  })
