/** A view's restrictions in the browser: its Content Security Policy, and the features that its frames may use. */
import { isOrigin } from "../contract/Origins.ts"
import type { Csp, Permissions } from "../contract/UiExtension.ts"

const listed = (origins: ReadonlyArray<string> | undefined): string =>
  (origins ?? [])
    .filter(isOrigin)
    .map((origin) => ` ${origin.replace(/\/$/, "")}`)
    .join("")

/** Returns the value of a directive: these origins, or `'none'`. */
const only = (origins: ReadonlyArray<string> | undefined): string => listed(origins) || " 'none'"

/**
 * Returns a view's Content Security Policy. Only declared origins can be reached, and entries that are not origins are left out. Inline
 * scripts and styles are allowed, because a view is a single page. `eval`, plugins, workers and form submission are not.
 */
export const policyOf = ({ baseUriDomains, connectDomains, frameDomains, resourceDomains }: Csp = {}): string => {
  const resources = listed(resourceDomains)
  return [
    "default-src 'none'",
    `script-src 'unsafe-inline'${resources}`,
    `style-src 'unsafe-inline'${resources}`,
    `img-src data: blob:${resources}`,
    `font-src data:${resources}`,
    `media-src data: blob:${resources}`,
    `connect-src${only(connectDomains)}`,
    `frame-src${only(frameDomains)}`,
    "worker-src 'none'",
    "object-src 'none'",
    `base-uri${listed(baseUriDomains) || " 'self'"}`,
    "form-action 'none'"
  ].join("; ")
}

const features = [
  ["camera", "camera"],
  ["microphone", "microphone"],
  ["geolocation", "geolocation"],
  ["clipboardWrite", "clipboard-write"]
] as const

/** Returns the `allow` attribute for a view's frames. */
export const allowOf = (permissions: Permissions = {}): string =>
  features.flatMap(([key, feature]) => (permissions[key] === undefined ? [] : [`${feature} *`])).join("; ")
