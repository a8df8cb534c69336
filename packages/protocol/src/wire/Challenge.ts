/**
 * Parses `WWW-Authenticate` challenges for a client (RFC 9110 section 11.6.1). `@effect-mcp/auth/server/Challenge` writes them.
 *
 * Malformed input results in no challenges instead of an error, because a 401 without a readable challenge still means "authorize".
 */

/** One challenge in the header. */
export interface ParsedChallenge {
  /** Lowercase authentication scheme. */
  readonly scheme: string
  /** Parameters by lowercase name. If a name is repeated, the first value counts. */
  readonly parameters: ReadonlyMap<string, string>
}

const separator = /[ \t,]*/y
const scheme = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*/y
const token68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y
// An unquoted value may contain more than a token allows, because real servers don't quote URLs.
const parameter = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*)"|([^\s,"=][^\s,"]*))/y

/** Returns all challenges in a header value, in order. */
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

/** The parts of a challenge that an OAuth client needs. */
export interface Demand {
  /** URL of the Protected Resource Metadata (RFC 9728 section 5.1). */
  readonly resourceMetadata: string | undefined
  /** Required scopes, or `undefined` if the challenge doesn't list any. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly error: string | undefined
}

/** Extracts the requirements from a 401 or 403. Each field comes from the first `Bearer` or `DPoP` challenge that includes it. */
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
