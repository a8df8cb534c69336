/**
 * Shows a view in a host's page: adds the sandbox's frame and forwards its messages. For the page only. It contains no Effect.
 *
 * Messages are text in both directions, so that their size is known before anything reads them.
 */

export interface Options {
  /** URL of the sandbox. Its origin must differ from the page's. */
  readonly sandbox: string
  /** The view's HTML. */
  readonly html: string
  /** `allow` attribute of the frame, from `Sandbox.allowOf`. Default: no features. */
  readonly allow?: string
  /** Accessible name of the frame. Default: the host gives none. */
  readonly title?: string
  /** Called with each message from the view, as JSON. */
  readonly received: (message: string) => void
  /** Called if the view sends a message that is longer than `maxLength` or is not JSON. The message is dropped. */
  readonly dropped?: (reason: string) => void
  /** Maximum length of a message in characters. Default 4 Mi. */
  readonly maxLength?: number
}

/** A view that is shown. */
export interface Frame {
  readonly element: HTMLIFrameElement
  /** Sends a message to the view, as JSON. */
  readonly send: (message: string) => void
  readonly remove: () => void
}

/**
 * Adds a view to the element. Throws if the sandbox has the page's origin.
 *
 * The function refers to nothing outside itself, so that its source text can be sent to a browser.
 */
export const show = (parent: Element, options: Options): Frame => {
  const { allow = "", dropped, html, maxLength = 4 * 1024 * 1024, received, sandbox, title } = options
  const { href, origin } = new URL(sandbox, location.href)
  if (origin === location.origin) throw new Error(`The sandbox must have a different origin than the page (${origin})`)
  const element = document.createElement("iframe")
  let loaded = false
  const methodOf = (data: unknown): unknown =>
    typeof data === "object" && data !== null && "method" in data ? data.method : undefined
  /**
   * Returns the JSON of a message, or the reason to drop it. A message is any structured clone. It may contain itself, a bigint, or the same
   * array many times, so that a few bytes become gigabytes of JSON. Writing therefore counts a lower bound and stops at the limit.
   */
  const textOf = (data: unknown): { readonly text: string } | { readonly why: string } => {
    const tooLong = { why: "it is too long" }
    let length = 0
    const counted = (_: string, value: unknown): unknown => {
      if (ArrayBuffer.isView(value)) throw new TypeError("A typed array is not JSON")
      length++
      if (typeof value === "string") length += value.length
      else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        for (const key of Object.keys(value)) length += key.length
      }
      if (length > maxLength) throw new RangeError("The message is too long")
      return value
    }
    try {
      // `JSON.stringify` returns `undefined` for a function, a symbol or `undefined`.
      const text: string | undefined = JSON.stringify(data, counted)
      if (text === undefined) return { why: "it is not JSON" }
      return text.length > maxLength ? tooLong : { text }
    } catch {
      return length > maxLength ? tooLong : { why: "it is not JSON" }
    }
  }
  const listener = ({ data, origin: from, source }: MessageEvent<unknown>): void => {
    if (source !== element.contentWindow || from !== origin) return
    if (methodOf(data) === "ui/notifications/sandbox-proxy-ready") {
      // If the sandbox were loaded again, the view would lose its state.
      if (loaded) return
      loaded = true
      const ready = { jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params: { html } }
      return element.contentWindow?.postMessage(ready, origin)
    }
    const written = textOf(data)
    if ("why" in written) dropped?.(written.why)
    else received(written.text)
  }
  window.addEventListener("message", listener)
  element.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms")
  element.setAttribute("allow", allow)
  element.setAttribute("referrerpolicy", "no-referrer")
  if (title !== undefined) element.title = title
  element.src = href
  parent.append(element)
  return {
    element,
    send: (message) => element.contentWindow?.postMessage(JSON.parse(message), origin),
    remove: () => {
      window.removeEventListener("message", listener)
      element.remove()
    }
  }
}
