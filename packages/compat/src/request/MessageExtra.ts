/** What a transport of a program says of a message beside it: `extra` of v1 and v2, as the layers below have it. */
import type { Envelope } from "@effect-mcp/core/Transport"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { AuthInfo } from "../model/types.ts"
import { principalOf } from "./auth.ts"

/** The members that are read: `requestInfo` is of v1, `request` of v2. */
export interface MessageExtra {
  readonly authInfo?: AuthInfo | undefined
  readonly requestInfo?:
    | {
        readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
        readonly url?: URL | undefined
      }
    | undefined
  readonly request?: globalThis.Request | undefined
}

const sessions = new WeakMap<Envelope, string>()

/** The id of the session that the transport of a message has; undefined for one without. */
export const transportSession = (envelope: Envelope): string | undefined => sessions.get(envelope)

const isExtra = (extra: unknown): extra is MessageExtra => isJsonObject(extra)

const headersOf = ({ request, requestInfo }: MessageExtra): Record<string, string> | undefined => {
  if (request !== undefined) return Object.fromEntries(request.headers)
  if (requestInfo === undefined) return undefined
  return Object.fromEntries(
    Object.entries(requestInfo.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), String(value)]]
    )
  )
}

/** The envelope of a message. */
export const envelopeOf = (given: unknown, sessionId: string | undefined): Envelope => {
  const extra = isExtra(given) ? given : {}
  const url = extra.request?.url ?? extra.requestInfo?.url?.href
  const envelope: Envelope = {
    headers: headersOf(extra),
    principal: principalOf(extra.authInfo),
    method: extra.request?.method ?? (extra.requestInfo && "POST"),
    originalUrl: url
  }
  if (sessionId !== undefined) sessions.set(envelope, sessionId)
  return envelope
}
