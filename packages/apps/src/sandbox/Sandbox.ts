/**
 * The sandbox: a page on a separate origin between a host's page and a view.
 *
 * The host's page shows the sandbox in a frame, and the sandbox shows the view in another one, which has no origin at all. The view inherits
 * the sandbox's Content Security Policy, and cannot leave it: the policy also limits the pages that its frame may navigate to.
 */
import type { Csp } from "../contract/UiExtension.ts"
import { policyOf } from "./Policy.ts"

export { allowOf, policyOf } from "./Policy.ts"

/** The `sandbox` attribute of the frame that shows the sandbox. */
export const frameSandbox = "allow-scripts allow-same-origin allow-forms"

/**
 * The sandbox's program. It loads the host's HTML once, and forwards messages between the host and the view, except for messages about
 * the sandbox itself.
 */
const program = (hostOrigin: string): string => `
(() => {
  const host = ${JSON.stringify(hostOrigin).replaceAll("<", String.raw`\u003C`)}
  const own = (message) => typeof message?.method === "string" && message.method.startsWith("ui/notifications/sandbox-")
  let view
  addEventListener("message", ({ data, origin, source }) => {
    if (typeof data !== "object" || data === null) return
    if (source === parent) {
      if (origin !== host) return
      if (!own(data)) return view?.contentWindow?.postMessage(data, "*")
      if (view !== undefined || data.method !== "ui/notifications/sandbox-resource-ready") return
      view = document.createElement("iframe")
      view.setAttribute("sandbox", "allow-scripts allow-forms")
      view.setAttribute("allow", document.body.dataset.allow)
      view.setAttribute("referrerpolicy", "no-referrer")
      view.srcdoc = String(data.params?.html)
      document.body.append(view)
    } else if (view !== undefined && source === view.contentWindow && !own(data)) parent.postMessage(data, host)
  })
  parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, host)
})()
`

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** The host that may show a sandbox, and its view's restrictions. */
export interface Options {
  /** Origin of the host's page, such as `https://host.example.com`. Must differ from the sandbox's origin. */
  readonly hostOrigin: string
  /** Origin of a page that shows the host's page in a frame. Default: no page may. */
  readonly embedder?: string | undefined
  /** Policy of the view. Default: it may reach nothing. */
  readonly csp?: Csp | undefined
  /** `allow` attribute of the view's frame, from `allowOf`. Default: no features. */
  readonly allow?: string | undefined
}

/** Returns the sandbox's page. Serve it with `headersOf`, on an origin that serves nothing else. */
export const pageOf = ({ allow = "", hostOrigin }: Options): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sandbox</title>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block; background: transparent } html { color-scheme: light dark }</style>
</head>
<body data-allow="${escaped(allow)}">
<script>${program(hostOrigin)}</script>
</body>
</html>
`

/** Returns the response headers for the sandbox's page. Its policy is also the view's. */
export const headersOf = ({ csp, embedder = "", hostOrigin }: Options): { readonly [name: string]: string } => ({
  "cache-control": "no-store",
  "content-security-policy": `${policyOf(csp)}; frame-ancestors ${hostOrigin} ${embedder}`,
  "content-type": "text/html; charset=utf-8",
  "cross-origin-resource-policy": "cross-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off"
})
