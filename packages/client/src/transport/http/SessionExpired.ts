/**
 * Recognizes servers that reject an unknown session with status 400 and a short text instead of 404: servers modeled on older examples from
 * the official SDKs, and SDK transports that were never initialized because the process is new.
 *
 * A body that names the request's id is an answer, and never counts as such a rejection.
 */
import * as Framing from "@effect-mcp/core/Framing"
import * as Effect from "effect/Effect"
import * as Body from "./Body.ts"
import type { HttpResponse } from "./HttpSender.ts"

/** Words that these servers' messages have in common. */
const words = /session id|session not found|not initialized/i
/** Maximum length of such a message in characters. A web page is longer. */
const longest = 500

/** True if the status may mean an expired session, in which case the body decides. */
export const isCandidate = (status: number): boolean => status === 400

/** True if the body of such a response says that the session has expired. */
export const matches = (body: string): boolean => {
  const decoded = Framing.decode(body)
  if (decoded._tag === "InvalidMessage") return decoded.id === undefined && body.length <= longest && words.test(body)
  if (decoded._tag === "Batch" || !("error" in decoded.message)) return false
  const { error, id } = decoded.message
  return (id === undefined || id === null) && words.test(error.message)
}

/** Maximum number of bytes to read from such a body. */
const limit = 64 * 1024

/** Reads the body of such a response. Returns an empty text if it is too long or too slow. */
export const read = (response: HttpResponse): Effect.Effect<string> =>
  Effect.map(
    Effect.timeoutOption(
      Effect.orElseSucceed(Body.text(response, limit), () => ""),
      Body.skipTimeout
    ),
    (text) => (text._tag === "Some" ? text.value : "")
  )
