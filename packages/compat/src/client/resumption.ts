/**
 * Passes programs the ids of the events that answer a request: `onresumptiontoken`.
 *
 * The underlying client resumes streams itself and does not expose ids. A header marks the request for the transport's `fetch`, which
 * removes it before sending.
 */
import { notify } from "../model/report.ts"

type Told = (token: string) => void

/** Never sent. */
const mark = "x-effect-mcp-resumption"

const waiting = new Map<string, Told>()
let count = 0

/** Returns the header that marks a request while it runs, or `undefined` for a request without `onresumptiontoken`. */
export const marked = (
  told: Told | undefined
): { readonly headers: { readonly [mark]: string } | undefined; readonly end: () => void } => {
  if (told === undefined) return { headers: undefined, end: () => undefined }
  const key = `${++count}`
  waiting.set(key, told)
  return { headers: { [mark]: key }, end: () => waiting.delete(key) }
}

/** Returns a body that reports the ids of its events. */
const telling = (body: ReadableStream<Uint8Array>, told: Told): ReadableStream<Uint8Array> => {
  const decoder = new TextDecoder()
  let rest = ""
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\r|\n/)
        rest = lines.pop() ?? ""
        for (const line of lines) if (line.startsWith("id:")) told(line.slice(3).trim())
        controller.enqueue(chunk)
      }
    })
  )
}

const isEvents = ({ headers }: Response): boolean =>
  headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") === true

/** `fetch` that reports event ids, for the answers to marked requests and for the streams that resume them. */
export const tellingTokens = (
  fetch: (url: string | URL, init: RequestInit & { headers: Headers }) => Promise<Response>
): typeof fetch => {
  /** The marks of requests by the last id that was reported. A stream is resumed with that id. */
  const resumable = new Map<string, string>()
  return async (url, init) => {
    const { headers } = init
    for (const [id, key] of resumable) if (!waiting.has(key)) resumable.delete(id)
    let last = headers.get("last-event-id") ?? ""
    const key = headers.get(mark) ?? resumable.get(last) ?? ""
    const told = waiting.get(key)
    headers.delete(mark)
    const response = await fetch(url, init)
    if (told === undefined || response.body === null || !isEvents(response)) return response
    const body = telling(response.body, (token) => {
      resumable.delete(last)
      resumable.set((last = token), key)
      // A callback that fails must not end the stream of the answer.
      notify(
        () => told(token),
        () => undefined
      )
    })
    return new Response(body, response)
  }
}
