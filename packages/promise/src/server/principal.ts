/** Checks the users a program returns, so that an invalid value is never treated as an anonymous caller. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Principal } from "../handler/Context.ts"

const isStrings = (u: unknown): u is ReadonlyArray<string> =>
  Array.isArray(u) && u.every((one) => typeof one === "string")

/** Converts a user to a principal. Throws a `TypeError` for any other value, with a message that starts with `source`. */
export const principalOf = (source: string, user: unknown): Principal => {
  const given = isJsonObject(user) ? user : {}
  const { claims = {}, scopes = [], subject } = given
  if (typeof subject !== "string" || subject === "")
    throw new TypeError(
      `${source} ${isJsonObject(user) ? "a user without a subject" : `a value of type ${typeof user}`}: expected { subject, scopes }, or undefined`
    )
  if (!isStrings(scopes)) throw new TypeError(`${source} scopes that are not an array of strings`)
  if (!isJsonObject(claims)) throw new TypeError(`${source} claims that are not an object`)
  return { subject, scopes, claims }
}
