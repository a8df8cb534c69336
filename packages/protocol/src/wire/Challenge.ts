/**
 * The challenges of `WWW-Authenticate` as a client reads them (RFC 9110 section 11.6.1); `@effect-mcp/auth/server/Challenge` writes them.
 *
 * Owns the grammar. Garbage yields no challenge instead of an error: a 401 without a readable challenge still means "authorize".
 */

/** One challenge of the header. */
export interface ParsedChallenge {
  /** In lower case. */
  readonly scheme: string
  /** Names in lower case; the first of equal names counts. */
  readonly parameters: ReadonlyMap<string, string>
}

const separator = /[ \t,]*/y
const scheme = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*/y
const token68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y
// A value without quotes may be more than a token: real servers leave the quotes of URLs out.
const parameter = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*)"|([^\s,"=][^\s,"]*))/y

/** All challenges of a header value, in order. */
export const parse = (header: string): ReadonlyArray<ParsedChallenge> => {
  const challenges: Array<{ readonly scheme: string; readonly parameters: Map<string, string> }> = []
  let at = 0
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const match = pattern.exec(header) ?? undefined
    if (match !== undefined) at = pattern.lastIndex
    return match
  }
  while (at < header.length) {
    read(separator)
    const last = challenges.at(-1)
    const [, name, quoted, bare] = (last === undefined ? undefined : read(parameter)) ?? []
    if (last !== undefined && name !== undefined) {
      const key = name.toLowerCase()
      if (!last.parameters.has(key)) last.parameters.set(key, quoted?.replaceAll(/\\([\s\S])/g, "$1") ?? bare ?? "")
      continue
    }
    const found = read(scheme)?.[0].trim().toLowerCase()
    if (found === undefined) break
    challenges.push({ scheme: found, parameters: new Map() })
    parameter.lastIndex = at
    if (!parameter.test(header)) read(token68)
  }
  return challenges
}

/** The demand of a challenge, as far as a client of OAuth uses it. */
export interface Demand {
  /** The URL of the Protected Resource Metadata (RFC 9728 section 5.1). */
  readonly resourceMetadata: string | undefined
  /** The scopes that the request needs; undefined where the challenge names none. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly error: string | undefined
}

/** The demand of a 401 or 403: each field of the first `Bearer` or `DPoP` challenge that has it. */
export const demand = (header: string | undefined): Demand => {
  const known = parse(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop")
  const find = (name: string) =>
    known.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined)
  const scopes = find("scope")
    ?.split(" ")
    .filter((scope) => scope !== "")
  return {
    resourceMetadata: find("resource_metadata"),
    scopes: scopes === undefined || scopes.length === 0 ? undefined : scopes,
    error: find("error")
  }
}
