/**
 * Lists that are the same for many requests: encoded once per revision, and reused as text.
 *
 * A list is known by its identity, so nothing in a shared one may change. A registry has one list per set of visible entries, so the
 * text never reaches a principal that sees another set. A result that middleware changed is another object, which is encoded anew.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"

const texts = new WeakMap<object, Map<string, JsonRpc.RawResult>>()

/** Marks `result` as a list that never changes. */
export const share = <A extends object>(result: A): A => {
  texts.set(result, new Map())
  return result
}

/** The text of a shared list in a `revision`, encoded once; for any other result `encode`. */
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
