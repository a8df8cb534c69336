/**
 * Servers that do not know a session (any more) and say so by 400 and a few words instead of by 404: those after the older examples of
 * the official SDKs, and every transport of theirs that was never initialized because its process is a new one.
 *
 * Refuses to guess where the answer is to the request itself: what names its id has been looked at.
 */
import * as Framing from "@effect-mcp/core/Framing"
import * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Body from "./Body.ts"

/** What they all say, in some form. */
const words = /session id|session not found|not initialized/i
/** The longest text that is taken for such words, in characters: a page about something else is longer. */
const longest = 500

/** Whether this is the status that they use; then the body tells. */
export const isCandidate = (status: number): boolean => status === 400

/** Whether a body that came with that status says so. */
export const matches = (body: string): boolean => {
  const decoded = Framing.decode(body)
  if (decoded._tag === "InvalidMessage") return decoded.id === undefined && body.length <= longest && words.test(body)
  if (decoded._tag === "Batch" || !("error" in decoded.message)) return false
  const { error, id } = decoded.message
  return (id === undefined || id === null) && words.test(error.message)
}

/** How much is read of a body that need not say anything, in bytes. */
const limit = 64 * 1024

/** The body of an answer that nobody needs but to find that out; empty if it is too long in any way. */
export const read = (response: HttpClientResponse): Effect.Effect<string> =>
  Effect.map(
    Effect.timeoutOption(
      Effect.orElseSucceed(Body.text(response, limit), () => ""),
      Body.skipTimeout
    ),
    (text) => (text._tag === "Some" ? text.value : "")
  )
