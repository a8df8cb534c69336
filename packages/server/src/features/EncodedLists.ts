/**
 * Lists that are the same for many requests: encoded once per revision, and reused as text.
 *
 * A list is known by its identity: whoever registers one says that nothing in it changes. It was made for what one principal may see,
 * so its text never reaches one who sees another list; middleware that changes a result makes another object, which is encoded anew.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"

const texts = new WeakMap<object, Map<string, JsonRpc.RawResult>>()

/** Says that `result` is one of those lists. */
export const share = <A extends object>(result: A): A => {
  texts.set(result, new Map())
  return result
}

/** `encode`, or what it gave before for the same list and the same `revision`. */
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
