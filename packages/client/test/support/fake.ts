/** An HTTP server in place of the HTTP client's wire: every request calls a function, and no socket is opened. */
import type * as Revision from "@effect-mcp/protocol/Revision"
import { Effect } from "effect"
import { HttpClient, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { discovered } from "../transport/http/support/finding.ts"

export interface Posted {
  /** The message of a POST, or undefined for a GET or DELETE. */
  readonly message: any
  readonly request: HttpClientRequest.HttpClientRequest
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } })

export const result = (message: any, value: object): Response => json({ jsonrpc: "2.0", id: message.id, result: value })

const textOf = ({ body }: HttpClientRequest.HttpClientRequest): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** An HTTP client whose requests the function answers. */
export const client = (answer: (posted: Posted) => Response | Effect.Effect<Response>): HttpClient.HttpClient =>
  HttpClient.make((request) =>
    Effect.suspend(() => {
      const text = textOf(request)
      const answered = answer({ message: text === "" ? undefined : JSON.parse(text), request })
      return Effect.map(Effect.isEffect(answered) ? answered : Effect.succeed(answered), (response) =>
        HttpClientResponse.fromWeb(request, response)
      )
    })
  )

const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {}, completions: {} }

/** A server of one revision that handles the handshake; the function answers everything after it. */
export const server = (
  version: Revision.Version,
  answer: (posted: Posted) => Response | Effect.Effect<Response>
): HttpClient.HttpClient =>
  client((posted) => {
    const { message, request } = posted
    if (message === undefined) return new Response(null, { status: request.method === "GET" ? 405 : 204 })
    if (message.method === "notifications/initialized") return new Response(null, { status: 202 })
    if (message.method === "server/discover" && version === "2026-07-28") {
      return result(message, { ...discovered, capabilities })
    }
    if (message.method === "server/discover") return json({}, 400)
    return message.method === "initialize"
      ? result(message, { protocolVersion: version, capabilities, serverInfo: { name: "fake", version: "1" } })
      : answer(posted)
  })
