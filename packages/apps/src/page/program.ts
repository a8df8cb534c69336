/** The program of the local page. Its source text is sent to the browser, so it must not refer to anything outside itself. */
import type { show } from "../frame/frame.ts"

/** Data that the page needs to show a view. */
export interface PageView {
  readonly title: string
  readonly html: string
  readonly allow: string
  readonly sandbox: string
  readonly prefersBorder: boolean
}

/** A line of the stream from the server to the page. */
export type PageEvent =
  | { readonly type: "view"; readonly session: string; readonly view: PageView }
  | { readonly type: "message"; readonly text: string }
  | {
      readonly type: "log"
      readonly from: "host" | "view"
      readonly label: string
      readonly text: string
      readonly refused: string | undefined
    }
  | { readonly type: "size"; readonly height: number | undefined }
  | { readonly type: "ended"; readonly reason: string }

/** Runs the page. `base` is the path of the page, `embedder` the origin of the page that shows it in a frame. */
// oxlint-disable-next-line max-lines-per-function -- its text is sent to the browser, with everything that it uses
export const program = (base: string, embedder: string | null, showFrame: typeof show): void => {
  const maxRows = 500
  const byId = (id: string): HTMLElement => {
    const found = document.getElementById(id)
    if (found === null) throw new Error(`The page has no #${id}`)
    return found
  }
  const stage = byId("stage")
  const log = byId("log")
  const status = byId("status")
  let session = ""
  let frame: ReturnType<typeof show> | undefined
  // Sent one at a time, so that the messages arrive in order.
  let posted = Promise.resolve()
  const post = (path: string, body: string): void => {
    posted = posted.then(async () => {
      if (session === "") return
      const response = await fetch(`${base}/${path}?session=${session}`, { method: "POST", body })
      // Ignores messages that were in transit when the view ended.
      if (!response.ok && session !== "") status.textContent = `The host responded with status ${response.status}`
    })
    posted.catch(() => {
      status.textContent = "The host has exited"
    })
  }
  const row = (event: Extract<PageEvent, { readonly type: "log" }>): void => {
    const item = document.createElement("details")
    const summary = document.createElement("summary")
    const text = document.createElement("pre")
    item.className = event.refused === undefined ? event.from : `${event.from} refused`
    const note = event.refused === undefined ? "" : ` (${event.refused})`
    summary.textContent = `${event.from === "view" ? "view to host" : "host to view"}  ${event.label}${note}`
    text.textContent = event.text
    const indent = (): void => {
      try {
        text.textContent = JSON.stringify(JSON.parse(event.text), undefined, 2)
      } catch {
        // A long message is cut off.
      }
    }
    item.addEventListener("toggle", indent, { once: true })
    item.append(summary, text)
    log.append(item)
    while (log.childElementCount > maxRows) log.firstElementChild?.remove()
    log.scrollTop = log.scrollHeight
  }
  const handle = (event: PageEvent): void => {
    switch (event.type) {
      case "view":
        session = event.session
        document.title = event.view.title
        byId("title").textContent = event.view.title
        stage.classList.toggle("border", event.view.prefersBorder)
        frame = showFrame(stage, {
          ...event.view,
          received: (text) => post("messages", text),
          dropped: (reason) => {
            status.textContent = `Dropped a message from the view: ${reason}`
          }
        })
        if (embedder !== null) followSystem()
        return
      case "message":
        return frame?.send(event.text)
      case "log":
        return row(event)
      case "size":
        if (frame === undefined || event.height === undefined) return
        if (embedder === null) frame.element.style.height = `${event.height}px`
        else parent.postMessage({ height: event.height }, embedder)
        return
      case "ended":
        session = ""
        frame?.remove()
        frame = undefined
        status.textContent = event.reason
    }
  }
  const follow = async (): Promise<void> => {
    const { body } = await fetch(`${base}/events`)
    if (body === null) return
    const decoder = new TextDecoder()
    let rest = ""
    const reader = body.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + decoder.decode(read.value, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) if (line !== "") handle(JSON.parse(line))
    }
    status.textContent = "The host has exited"
  }
  const theme = byId("theme")
  const setTheme = (name: string): void => {
    document.documentElement.dataset["theme"] = name
    theme.textContent = name === "dark" ? "Light" : "Dark"
    post("context", JSON.stringify({ theme: name }))
  }
  /** Follows the theme of the system, as the page around this one does. */
  const followSystem = (): void => {
    const dark = matchMedia("(prefers-color-scheme: dark)")
    const change = (): void => setTheme(dark.matches ? "dark" : "light")
    dark.addEventListener("change", change)
    change()
  }
  theme.addEventListener("click", () =>
    setTheme(document.documentElement.dataset["theme"] === "dark" ? "light" : "dark")
  )
  const width = byId("width")
  width.addEventListener("click", () => {
    const isPhone = stage.classList.toggle("phone")
    width.textContent = isPhone ? "Desktop" : "Phone"
  })
  byId("close").addEventListener("click", () => post("close", ""))
  void follow().catch(() => {
    status.textContent = "The host has exited"
  })
}
