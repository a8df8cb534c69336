/** Checks the headers `Host` and `Origin`, against pages that reach a server through their own domain name (DNS rebinding). */
import { DnsRebinding } from "@effect-mcp/server/internal/origins"
import { memoize } from "effect/Function"

const loopback: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

type Header = string | null | undefined
type Names = ReadonlyArray<string>

const nameOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined)

const isAmong = (name: string | undefined, names: Names): boolean =>
  name !== undefined && (names.includes(name) || names.includes("*"))

/** Returns the reason to reject a request's `Host`, or `undefined` if it is admitted. `names` have no port; `*` admits any. */
export const hostRefusal = (host: Header, names: Names = loopback): string | undefined =>
  isAmong(nameOf(`http://${host ?? ""}`), names)
    ? undefined
    : `Invalid Host: ${host ?? "none"}. Allowed hosts: ${names.join(", ")}`

/** Returns the reason to reject a request's `Origin`, or `undefined` if it is admitted or missing. */
export const originRefusal = (origin: Header, names: Names = loopback): string | undefined =>
  origin === null || origin === undefined || isAmong(nameOf(origin), names) ? undefined : `Invalid Origin: ${origin}`

/** Body of a rejection. */
export const refused = (message: string) => ({ jsonrpc: "2.0" as const, error: { code: -32_000, message }, id: null })

type Part = "host" | "origin"

const checkedParts = memoize<object, Set<Part>>(() => new Set())

/** Records that earlier code has checked a header of a request, so that the endpoint does not check it again. */
export const isChecked = (request: object, part: Part): void => {
  checkedParts(request).add(part)
}

/** Host names of the loopback interface. */
export const localhostAllowedHostnames = (): Array<string> => [...loopback]
/** The same names, for the origins of pages. */
export const localhostAllowedOrigins = (): Array<string> => [...loopback]

const responseTo = (request: Request, part: Part, why: string | undefined): Response | undefined => {
  if (why !== undefined) return Response.json(refused(why), { status: 403 })
  isChecked(request, part)
  return undefined
}

/** Returns a 403 if the request's `Host` is not one of the names, else `undefined`. */
export const hostHeaderValidationResponse = (request: Request, names: Names): Response | undefined =>
  responseTo(request, "host", hostRefusal(request.headers.get("host") ?? new URL(request.url).host, names))
/** Returns a 403 if the request's `Origin` is present and not one of the names, else `undefined`. */
export const originValidationResponse = (request: Request, names: Names): Response | undefined =>
  responseTo(request, "origin", originRefusal(request.headers.get("origin"), names))

/** Names that an app admits. A header is not checked if its names are undefined. */
export interface AppNames {
  /** Address that the app will listen on. With the default `127.0.0.1`, `Host` and `Origin` must be loopback names. */
  host?: string | undefined
  /** Names that requests may have in `Host`, without a port. */
  allowedHosts?: Array<string> | undefined
  /** Host names of pages that may send requests, without scheme and port. */
  allowedOrigins?: Array<string> | undefined
}

/** Returns a check for an app. It returns the reason to reject a request, checking its host first and then its origin. */
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

/** Returns the reason why an endpoint rejects a request, if neither the endpoint nor earlier code admits its host or origin. */
export const endpointRefusal = (
  request: object,
  headers: { readonly host: Header; readonly origin: Header },
  { allowedHosts, allowedOrigins }: DnsRebinding.Options
): string | undefined => {
  const done = checkedParts(request)
  return DnsRebinding.check(
    { host: headers.host ?? undefined, origin: headers.origin ?? undefined },
    {
      allowedHosts: done.has("host") ? ["*"] : allowedHosts,
      allowedOrigins: done.has("origin") ? ["*"] : allowedOrigins
    }
  )
}
