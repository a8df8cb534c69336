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

const sessions = new WeakMap<Envelope, string | undefined>()

/** The id that the transport of a message has, undefined for one without; `own` for a message that no transport of a program brought. */
export const sessionOf = (envelope: Envelope, own: string | undefined): string | undefined =>
  sessions.has(envelope) ? sessions.get(envelope) : own

const isExtra = (extra: unknown): extra is MessageExtra => isJsonObject(extra)

/** Transports are of programs: a member of another shape is as if it were not there. */
const read = <A>(member: () => A): A | undefined => {
  try {
    return member()
  } catch {
    return undefined
  }
}

const headersOf = ({ request, requestInfo }: MessageExtra): Record<string, string> | undefined => {
  const given = request?.headers ?? requestInfo?.headers
  if (given === undefined || given === null) return undefined
  if (given instanceof Headers) return Object.fromEntries(given)
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined || value === null
        ? []
        : [[name.toLowerCase(), Array.isArray(value) ? value.join(", ") : String(value)]]
    )
  )
}

/** Its path is the root where the transport does not say it, as those of older programs. */
const requestOf = (extra: MessageExtra): Pick<Envelope, "headers" | "method" | "originalUrl"> => {
  const headers = headersOf(extra)
  if (headers === undefined) return {}
  const url: unknown = extra.request?.url ?? extra.requestInfo?.url?.href
  const method: unknown = extra.request?.method
  return {
    headers,
    method: typeof method === "string" ? method : "POST",
    originalUrl: typeof url === "string" && URL.canParse(url, "http://localhost") ? url : "/"
  }
}

/** The envelope of a message. */
export const envelopeOf = (given: unknown, sessionId: string | undefined): Envelope => {
  const extra = isExtra(given) ? given : {}
  const envelope: Envelope = { ...read(() => requestOf(extra)), principal: read(() => principalOf(extra.authInfo)) }
  sessions.set(envelope, sessionId)
  return envelope
}
