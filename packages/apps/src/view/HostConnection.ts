/** JSON-RPC with the window that shows this one. Messages from all other windows are ignored. */

type Fields = { readonly [key: string]: unknown }

/** A rejection by the host or the server, a failed tool, or a missing response. */
export class ViewError extends Error {
  override readonly name = "ViewError"
  /** The error's JSON-RPC code, if it was a JSON-RPC error. */
  readonly code: number | undefined
  /** A failed tool's result. */
  readonly result: unknown

  constructor(message: string, code?: number, result?: unknown) {
    super(message)
    this.code = code
    this.result = result
  }
}

/** Handles messages from the host. */
interface Handlers {
  readonly notified: (method: string, params: Fields) => void
  /** Returns the answer to a request, or `undefined` if the view doesn't know the method. */
  readonly asked: (method: string, params: Fields) => Promise<Fields | undefined>
}

interface Waiting {
  readonly resolve: (result: Fields) => void
  readonly reject: (error: ViewError) => void
}

const fieldsOf = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any object has fields of unknown types
  typeof value === "object" && value !== null ? (value as Fields) : {}

const methodNotFound = -32601
const internalError = -32603

export class HostConnection {
  private readonly host: Window
  private readonly handlers: Handlers
  private readonly waiting = new Map<number, Waiting>()
  private lastId = 0

  constructor(host: Window, handlers: Handlers) {
    this.host = host
    this.handlers = handlers
    window.addEventListener("message", this.received)
  }

  private readonly received = ({ data, source }: MessageEvent<unknown>): void => {
    if (source !== this.host) return
    const { error, id, jsonrpc, method, params, result } = fieldsOf(data)
    if (jsonrpc !== "2.0") return
    if (typeof method === "string") {
      if (id === undefined) this.handlers.notified(method, fieldsOf(params))
      else void this.answer(id, method, fieldsOf(params))
      return
    }
    const request = typeof id === "number" ? this.waiting.get(id) : undefined
    if (request === undefined) return
    if (error === undefined) return request.resolve(fieldsOf(result))
    const { code, message } = fieldsOf(error)
    request.reject(new ViewError(String(message), typeof code === "number" ? code : undefined))
  }

  private async answer(id: unknown, method: string, params: Fields): Promise<void> {
    try {
      const result = await this.handlers.asked(method, params)
      this.send({ id, ...(result === undefined ? unknownMethod(method) : { result }) })
    } catch (error) {
      this.send({ id, error: { code: internalError, message: String(error) } })
    }
  }

  // A sandboxed page doesn't know the host's origin. Only the parent window receives the message.
  private send(message: Fields): void {
    this.host.postMessage({ jsonrpc: "2.0", ...message }, "*")
  }

  readonly notify = (method: string, params: Fields = {}): void => this.send({ method, params })

  readonly request = (
    method: string,
    params: Fields,
    { signal, timeout = 60_000 }: { readonly signal?: AbortSignal; readonly timeout?: number } = {}
  ): Promise<Fields> => {
    const id = ++this.lastId
    const { promise, reject, resolve } = Promise.withResolvers<Fields>()
    const stop = (reason: string): void => {
      this.notify("notifications/cancelled", { requestId: id, reason })
      reject(new ViewError(`${method}: ${reason}`))
    }
    const aborted = (): void => stop("cancelled")
    const timer = setTimeout(() => stop(`no response within ${timeout} ms`), timeout)
    this.waiting.set(id, { resolve, reject })
    this.send({ id, method, params })
    if (signal?.aborted === true) aborted()
    else signal?.addEventListener("abort", aborted)
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", aborted)
      this.waiting.delete(id)
    })
  }

  /** Stops listening. Requests in flight are not answered. */
  close(): void {
    window.removeEventListener("message", this.received)
  }
}

const unknownMethod = (method: string) => ({ error: { code: methodNotFound, message: `Unknown method ${method}` } })
