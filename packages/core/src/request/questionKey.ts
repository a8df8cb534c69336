/** Keys under which requests and tasks that are replayed find the answers to their questions. */
import { canonicalJson } from "../internal/canonicalJson.ts"
import { digest } from "../internal/digest.ts"

/**
 * Returns the name of a question: its method or the name that the handler gave it, and a digest of its method and params.
 *
 * A question whose params changed has another name, so it never gets the answer to the earlier one, even if a stranger chose both texts.
 */
export const questionName = (method: string, params: unknown, given?: string): string =>
  `${given ?? method}:${digest(`${method} ${canonicalJson(params)}`)}`

/** Returns the key of a question whose name was asked `earlier` times before, or `undefined` times if all that ask it share one answer. */
export const questionKey = (name: string, earlier: number | undefined): string =>
  earlier === undefined ? name : `${name}#${earlier}`
