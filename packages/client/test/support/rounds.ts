/** Questions during requests of 2026-07-28, services that answer them, and a server that asks them. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import { Effect, Layer } from "effect"
import * as Modern from "./modern.ts"
import type * as Scripted from "./scripted.ts"

export const form = (message: string) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
})

export const page = (url = "https://pay.example.com/1") => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Pay", url }
})

export const thought = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 }
}

export const places = { method: "roots/list" }

export const said = { role: "assistant", model: "m", content: { type: "text", text: "Hi" } } as const

export const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept", content: { name: `Ada, asked: ${message}` } }),
  url: () => Effect.succeed({ action: "accept" })
})

export const model = Sampling.layer(() => Effect.succeed(said))

export const home = Roots.layerStatic([{ uri: "file:///home/ada" }])

export const host = Layer.mergeAll(user, model, home)

export const asks = (inputRequests: object | undefined, requestState?: string) => ({
  resultType: "input_required",
  ...(inputRequests === undefined ? undefined : { inputRequests }),
  ...(requestState === undefined ? undefined : { requestState })
})

export const done = Modern.complete({ content: [{ type: "text", text: "done" }] })

/** Answers the rounds of `tools/call` one by one. */
export const rounds = (...results: ReadonlyArray<object>): Scripted.Script => {
  let round = 0
  return { answers: { "tools/call": () => results[Math.min(round++, results.length - 1)] ?? done } }
}

export const calls = (server: Scripted.Scripted) => server.requests("tools/call")
