/** Checks of the headers `Host` and `Origin`, against pages that reach a server by a name of their own (DNS rebinding). */
import * as DnsRebinding from "@effect-mcp/server/internal/DnsRebinding"

const loopback: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

type Header = string | null | undefined
type Names = ReadonlyArray<string>

const nameOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined)

const isAmong = (name: string | undefined, names: Names): boolean =>
  name !== undefined && (names.includes(name) || names.includes("*"))

/** Why a request is refused for its `Host`; undefined where it is not. `names` are without a port, `*` is any. */
export const hostRefusal = (host: Header, names: Names = loopback): string | undefined =>
  isAmong(nameOf(`http://${host ?? ""}`), names)
    ? undefined
    : `Invalid Host: ${host ?? "none"}; expected ${names.join(", ")}`

/** Why a request is refused for its `Origin`; undefined where it is not, and where it has none. */
export const originRefusal = (origin: Header, names: Names = loopback): string | undefined =>
  origin === null || origin === undefined || isAmong(nameOf(origin), names) ? undefined : `Invalid Origin: ${origin}`

/** The body of a refusal. */
export const refused = (message: string) => ({ jsonrpc: "2.0" as const, error: { code: -32_000, message }, id: null })

type Part = "host" | "origin"

const checked = new WeakMap<object, Set<Part>>()

/** Notes that code before the endpoint has checked a header of a request: the endpoint does not check it again. */
export const isChecked = (request: object, part: Part): void => {
  checked.set(request, (checked.get(request) ?? new Set<Part>()).add(part))
}

/** The names of loopback. */
export const localhostAllowedHostnames = (): Array<string> => [...loopback]
/** The same, for pages. */
export const localhostAllowedOrigins = (): Array<string> => [...loopback]

const responseTo = (request: Request, part: Part, why: string | undefined): Response | undefined => {
  if (why !== undefined) return Response.json(refused(why), { status: 403 })
  isChecked(request, part)
  return undefined
}

/** The refusal of a request whose `Host` is none of the names; undefined where it is one. */
export const hostHeaderValidationResponse = (request: Request, names: Names): Response | undefined =>
  responseTo(request, "host", hostRefusal(request.headers.get("host") ?? new URL(request.url).host, names))
/** The refusal of a request whose `Origin` is none of the names; undefined where it is one, or is missing. */
export const originValidationResponse = (request: Request, names: Names): Response | undefined =>
  responseTo(request, "origin", originRefusal(request.headers.get("origin"), names))

/** The names of an app; undefined for what it does not check. */
export interface AppNames {
  /** The address that the app will listen on. Default `127.0.0.1`: then `Host` and `Origin` must be names of loopback. */
  host?: string | undefined
  /** Names that requests may have in `Host`, without a port. */
  allowedHosts?: Array<string> | undefined
  /** Names of pages that may ask, without scheme and port. */
  allowedOrigins?: Array<string> | undefined
}

/** Why an app with these names refuses a request, first for its host, then for its origin. */
export const appCheck = ({ allowedHosts, allowedOrigins, host = "127.0.0.1" }: AppNames) => {
  const own = loopback.includes(host) || host === "::1" ? loopback : undefined
  const hosts = allowedHosts ?? own
  const origins = allowedOrigins ?? own
  return (
    request: object,
    { host, origin }: { readonly host: Header; readonly origin: Header }
  ): string | undefined => {
    const why = (hosts && hostRefusal(host, hosts)) ?? (origins && originRefusal(origin, origins))
    if (why !== undefined) return why
    if (hosts !== undefined) isChecked(request, "host")
    if (origins !== undefined) isChecked(request, "origin")
    return undefined
  }
}

/** Why an endpoint refuses a request: it is from a host or an origin that neither the endpoint nor code before it admits. */
export const endpointRefusal = (
  request: object,
  headers: { readonly host: Header; readonly origin: Header },
  { allowedHosts, allowedOrigins }: DnsRebinding.Options
): string | undefined => {
  const done = checked.get(request)
  return DnsRebinding.check(
    { host: headers.host ?? undefined, origin: headers.origin ?? undefined },
    {
      allowedHosts: done?.has("host") === true ? ["*"] : allowedHosts,
      allowedOrigins: done?.has("origin") === true ? ["*"] : allowedOrigins
    }
  )
}
