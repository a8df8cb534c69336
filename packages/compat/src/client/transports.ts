/**
 * The transports of a client: a child process, Streamable HTTP, and HTTP with SSE. They describe how to open a connection; the client opens
 * it.
 */
import type { Transport } from "../server/Transport.ts"
import * as Effect from "effect/Effect"
import { Login, type LoginOptions } from "./login/Login.ts"
import type { FetchLike } from "./login/provider.ts"
import { openedAs, type Opened } from "./openings.ts"
import { tellingTokens } from "./resumption.ts"

class ClientTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  sessionId?: string | undefined
  /** Ends the connection. Set while there is one. */
  protected end: (() => Promise<void>) | undefined

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("Cannot send on this transport directly: use the client that is connected to it")
  }

  async close(): Promise<void> {
    await this.end?.()
  }
}

export interface StdioServerParameters {
  command: string
  args?: Array<string> | undefined
  /** Environment variables in addition to the few that are inherited. */
  env?: { [name: string]: string } | undefined
  /** Default `inherit`: the server writes to this process's stderr. */
  stderr?: "inherit" | "pipe" | "ignore" | "overlapped" | undefined
  cwd?: string | undefined
}

const process = (
  { args, command, cwd, env, stderr = "inherit" }: StdioServerParameters,
  started: (pid: number) => void
): Opened =>
  Effect.flatMap(
    Effect.promise(() =>
      Promise.all([import("@effect-mcp/client/Stdio"), import("@effect/platform-node/NodeServices")])
    ),
    ([Stdio, NodeServices]) =>
      Stdio.open({
        command,
        args,
        cwd,
        env,
        stderr: stderr === "inherit" || stderr === "ignore" ? stderr : "keep"
      }).pipe(
        Effect.tap(({ pid }) => Effect.sync(() => started(pid))),
        Effect.provide(NodeServices.layer)
      )
  )

/** A server that runs as a child process. */
export class StdioClientTransport extends ClientTransport {
  /** The process id, while the server runs. */
  pid: number | null = null

  constructor(server: StdioServerParameters) {
    super()
    const started = (pid: number) => {
      this.pid = pid
    }
    openedAs(this, {
      open: () => process(server, started),
      opened: (close) => {
        this.end = close
      }
    })
  }
}

export interface HttpClientTransportOptions extends LoginOptions {
  /** Sends `headers` with every request. Other members are ignored. */
  requestInit?: RequestInit | undefined
  fetch?: FetchLike | undefined
  /** Accepted and ignored: a new session is opened. */
  sessionId?: string | undefined
  /** Accepted and ignored: see `reconnect` of `@effect-mcp/client`. */
  reconnectionOptions?: unknown
}

/** Returns a transport's `fetch`. It adds the token of its login, and reports the id of the session that the server opens. */
const fetchOf = (login: Login, heard: (sessionId: string) => void): typeof globalThis.fetch => {
  const send = tellingTokens(login.fetch)
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    const response = await send(input instanceof Request ? input.url : input, { ...init, headers })
    const sessionId = response.headers.get("mcp-session-id")
    if (sessionId !== null) heard(sessionId)
    return response
  }
}

const http = (
  url: URL,
  { requestInit }: HttpClientTransportOptions,
  transport: "streamable" | "sse",
  fetch: typeof globalThis.fetch
): Opened => {
  const headers = Object.fromEntries(new Headers(requestInit?.headers))
  return Effect.flatMap(
    Effect.promise(() => Promise.all([import("@effect-mcp/client/Http"), import("./login/httpClient.ts")])),
    ([Http, client]) => Effect.provide(Http.open({ url, headers, transport }), client.layer(fetch))
  )
}

class HttpClientTransport extends ClientTransport {
  protected readonly login: Login

  constructor(url: URL, options: HttpClientTransportOptions, kind: "streamable" | "sse") {
    super()
    const { fetch = globalThis.fetch } = options
    const login = new Login(url, options, (target, init) => fetch(target, init), kind === "streamable")
    this.login = login
    const heard = (sessionId: string) => {
      if (kind === "streamable") this.sessionId = sessionId
    }
    openedAs(this, {
      open: () => http(url, options, kind, fetchOf(login, heard)),
      opened: (close) => {
        this.end = close
      }
    })
  }

  /** Exchanges the authorization server's answer for tokens. Pass the parameters of the redirect, or its code and `iss`. */
  finishAuth(answer: URLSearchParams): Promise<void>
  finishAuth(code: string, iss?: string): Promise<void>
  async finishAuth(answer: URLSearchParams | string, iss?: string): Promise<void> {
    await this.login.finish(answer, iss)
  }
}

/** A server at a URL, over Streamable HTTP. */
export class StreamableHTTPClientTransport extends HttpClientTransport {
  constructor(url: URL, options: HttpClientTransportOptions = {}) {
    super(url, options, "streamable")
  }

  /** Ends the session and its connection. */
  async terminateSession(): Promise<void> {
    await this.close()
    this.sessionId = undefined
  }
}

/** A server at a URL, over HTTP with SSE (2024-11-05). */
export class SSEClientTransport extends HttpClientTransport {
  constructor(url: URL, options: HttpClientTransportOptions = {}) {
    super(url, options, "sse")
  }
}
