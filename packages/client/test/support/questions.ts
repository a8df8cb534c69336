/** Questions of every kind to a client, services that answer them, and the client's declarations and answers. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Version } from "@effect-mcp/protocol/Revision"
import { Effect } from "effect"
import { asker } from "./asking.ts"
import { connected } from "./connected.ts"
import * as Modern from "./modern.ts"

export const answer = { role: "assistant", model: "m", content: { type: "text", text: "Hi" } } as const

export const model = (capabilities?: { tools?: boolean; context?: boolean }) =>
  Sampling.layer(() => Effect.succeed(answer), capabilities)

export const both = Elicitation.layer({
  form: () => Effect.succeed({ action: "decline", content: { not: "sent" } }),
  url: () => Effect.succeed({ action: "accept" })
})

export const sampling = { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 }

export const form = (requestedSchema: object = { type: "object", properties: { name: { type: "string" } } }) => ({
  message: "Your name?",
  requestedSchema
})

export const page = { mode: "url" as const, message: "Pay", url: "https://pay.example.com/1", elicitationId: "e1" }

/** The client's declarations without tasks, and its answer to one question. */
export const declared = (version: Version) =>
  Effect.map(connected({ version }, { revisions: [version], tasks: false }), ({ server }) =>
    version === Modern.version
      ? Modern.declared(server.requests("server/discover")[0], Meta.clientCapabilities)
      : server.requests("initialize")[0]?.params?.capabilities
  )

export const asked = (version: Version, method: string, params?: object) =>
  Effect.flatMap(asker(version), ({ ask }) => ask(method, params))

export const codeOf = (version: Version, method: string, params?: object) =>
  Effect.map(Effect.flip(asked(version, method, params)), (error) =>
    error instanceof McpError.McpError ? error.code : error._tag
  )
