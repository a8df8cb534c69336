/** Checks of the headers `Host` and `Origin`, against pages that reach a server on loopback by a name of their own. */

const loopback: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

const nameOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined)

/** Why a request is refused; undefined where it is not. */
export const refusal = (
  host: string | null | undefined,
  origin: string | null | undefined,
  names: ReadonlyArray<string> = loopback
): string | undefined => {
  const given = nameOf(`http://${host ?? ""}`)
  if (given === undefined || !names.includes(given))
    return `Invalid Host: ${host ?? "none"}; expected ${names.join(", ")}`
  if (origin === null || origin === undefined) return undefined
  const from = nameOf(origin)
  return from !== undefined && names.includes(from) ? undefined : `Invalid Origin: ${origin}`
}

/** The body of a refusal. */
export const refused = (message: string) => ({ jsonrpc: "2.0" as const, error: { code: -32_000, message }, id: null })

/** The names that an app on this address admits; undefined for all. */
export const admitted = (
  host: string,
  allowedHosts: ReadonlyArray<string> | undefined
): ReadonlyArray<string> | undefined => {
  if (allowedHosts !== undefined) return allowedHosts
  return loopback.includes(host) || host === "::1" ? loopback : undefined
}
