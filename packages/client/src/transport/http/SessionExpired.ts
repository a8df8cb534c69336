/**
 * Servers that refuse an unknown session with status 400 and a few words instead of 404: those written after older examples of the
 * official SDKs, and their transports that were never initialized because the process is a new one.
 *
 * A body that names the request's id is an answer, and never counts as such a refusal.
 */
import * as Framing from "@effect-mcp/core/Framing"
import * as Effect from "effect/Effect"
import * as Body from "./Body.ts"
import type { HttpResponse } from "./HttpSender.ts"

/** What the messages of these servers have in common. */
const words = /session id|session not found|not initialized/i
/** The longest text that may be such a message, in characters; a web page is longer. */
const longest = 500

/** Whether the status may mean an expired session; then the body decides. */
export const isCandidate = (status: number): boolean => status === 400

/** Whether the body of such a response says that the session has expired. */
export const matches = (body: string): boolean => {
  const decoded = Framing.decode(body)
  if (decoded._tag === "InvalidMessage") return decoded.id === undefined && body.length <= longest && words.test(body)
  if (decoded._tag === "Batch" || !("error" in decoded.message)) return false
  const { error, id } = decoded.message
  return (id === undefined || id === null) && words.test(error.message)
}

/** How many bytes of such a body are read. */
const limit = 64 * 1024

/** The body of such a response; empty if it is too long or too slow. */
export const read = (response: HttpResponse): Effect.Effect<string> =>
  Effect.map(
    Effect.timeoutOption(
      Effect.orElseSucceed(Body.text(response, limit), () => ""),
      Body.skipTimeout
    ),
    (text) => (text._tag === "Some" ? text.value : "")
  )
