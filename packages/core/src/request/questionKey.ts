/** Keys that replayed requests and tasks use to find the answers to their questions. */
import { canonicalJson, digest } from "../internal/digest.ts"

/**
 * Returns a question's name: its method or the name chosen by the handler, plus a digest of its method and params.
 *
 * A question with different params has a different name, so it never receives an earlier question's answer, even if an attacker chose both.
 */
export const questionName = (method: string, params: unknown, given?: string): string =>
  `${given ?? method}:${digest(`${method} ${canonicalJson(params)}`)}`

/**
 * Returns a question's key. `earlier` is the number of times the same name has been asked before, or `undefined` if everyone who asks the
 * question shares one answer.
 */
export const questionKey = (name: string, earlier: number | undefined): string =>
  earlier === undefined ? name : `${name}#${earlier}`
