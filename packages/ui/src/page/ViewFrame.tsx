/** The view of a tool in the result of a call. Its page has its own origin, and shows the view in the sandbox of `effect-mcp app`. */
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import { useEffect, useRef, useState } from "preact/hooks"
import type { UserRun } from "../messages/Events.ts"
import { line } from "./format.ts"
import { isObject } from "./schema.ts"
import { connection, send, started } from "./state.ts"

/** Heights in pixels. A view asks for its own. */
const firstHeight = 320
const leastHeight = 60
const mostHeight = 1200

/** Returns the URI of a tool's view, or `undefined` if it has none. */
export const viewUriOf = (meta: Tool["_meta"]): unknown => {
  const { ui } = meta ?? {}
  return isObject(ui) ? ui["resourceUri"] : meta?.["ui/resourceUri"]
}

const Frame = ({ title, url }: { readonly title: string; readonly url: string }) => {
  const frame = useRef<HTMLIFrameElement>(null)
  const [height, setHeight] = useState(firstHeight)
  useEffect(() => {
    const resize = ({ data, origin, source }: MessageEvent<unknown>): void => {
      // The view inside the frame can also send messages to this window.
      if (source !== frame.current?.contentWindow || origin !== new URL(url).origin || !isObject(data)) return
      const wanted = data["height"]
      if (typeof wanted === "number") setHeight(Math.min(mostHeight, Math.max(leastHeight, Math.ceil(wanted))))
    }
    addEventListener("message", resize)
    return () => removeEventListener("message", resize)
  }, [url])
  return (
    <iframe
      ref={frame}
      title={title}
      sandbox="allow-scripts allow-same-origin allow-forms"
      referrerpolicy="no-referrer"
      height={height}
      src={url}
    />
  )
}

/** Opens at once for a run that the user has just started. Views of older runs wait for a click, because each view is a program. */
export const ViewFrame = ({ run: { id, name: of } }: { readonly run: UserRun }) => {
  const [url, setUrl] = useState<string | undefined>(undefined)
  const isLatest = started.value === id
  const open = async () => {
    const answer = await send({ _tag: "View", run: id })
    if (answer !== undefined) setUrl(String(answer["url"]))
  }
  useEffect(() => {
    if (isLatest && url === undefined) void open()
  }, [isLatest])
  return (
    <section class="part" aria-label="View">
      <p class="subhead">View</p>
      {url === undefined ? (
        <button
          type="button"
          class="small"
          disabled={connection.value.status !== "connected"}
          onClick={() => void open()}
        >
          Show view
        </button>
      ) : (
        <Frame title={`View of ${line(of, 80)}`} url={url} />
      )}
    </section>
  )
}
