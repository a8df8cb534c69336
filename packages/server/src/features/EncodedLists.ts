/**
 * Lists that many requests share: each is encoded once per revision and reused as text.
 *
 * Lists are compared by identity, so a shared list must never change. A registry creates one list per set of visible entries, so the text
 * never reaches a principal that sees a different set. If middleware changes a result, the result is a new object and is encoded again.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"

/** Not a field of the result, which is encoded and handed to middleware. */
const texts = new WeakMap<object, Map<string, JsonRpc.RawResult>>()

/** Marks `result` as a list that never changes. */
export const share = <A extends object>(result: A): A => {
  texts.set(result, new Map())
  return result
}

/** Returns the text of a shared list in `revision`, which is encoded once. Calls `encode` for any other result. */
export const encoded = <E>(
  result: object,
  revision: string,
  encode: () => Effect.Effect<unknown, E>
): Effect.Effect<unknown, E> => {
  const known = texts.get(result)
  if (known === undefined) return encode()
  const text = known.get(revision)
  if (text !== undefined) return Effect.succeed(text)
  return Effect.mapEager(encode(), (wire) => {
    const made = new JsonRpc.RawResult(JSON.stringify(wire))
    known.set(revision, made)
    return made
  })
}
