/** Information that a program's transport passes with a message (`extra` in v1 and v2), converted for the underlying server. */
import type { Envelope } from "@effect-mcp/core/Transport"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { AuthInfo } from "../model/types.ts"
import { principalOf } from "./auth.ts"

/** The members that are read. v1 has `requestInfo`, v2 has `request`. */
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

const session: unique symbol = Symbol("@effect-mcp/compat/session")

/** Envelope of a message that came from a program's own transport. */
interface Brought extends Envelope {
  readonly [session]: string | undefined
}

const isBrought = (envelope: Envelope): envelope is Brought => session in envelope

/**
 * Returns the session id from the transport of a message, if it has one. Returns `own` if the message did not come from a program's
 * transport.
 */
export const sessionOf = (envelope: Envelope, own: string | undefined): string | undefined =>
  isBrought(envelope) ? envelope[session] : own

const isExtra = (extra: unknown): extra is MessageExtra => isJsonObject(extra)

/** Reads a member of a program's transport. A member of the wrong shape is treated as missing. */
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

/** The path defaults to the root, because the transports of older programs do not provide it. */
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

/** Returns the envelope of a message. */
export const envelopeOf = (given: unknown, sessionId: string | undefined): Envelope => {
  const extra = isExtra(given) ? given : {}
  const envelope: Brought = {
    ...read(() => requestOf(extra)),
    principal: read(() => principalOf(extra.authInfo)),
    [session]: sessionId
  }
  return envelope
}
