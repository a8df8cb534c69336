/** Options for a client and for its requests. Times are in milliseconds. */
import type {
  ClientCapabilities,
  JsonObject,
  PriorDiscovery,
  Progress,
  Prompt,
  Resource,
  Tool
} from "../model/types.ts"

/** Called when a list has changed. If `autoRefresh` is on, it receives the new list. */
export interface ListChanged<A> {
  onChanged: (error: Error | null, items: Array<A> | null) => void
  /** Whether to read the list again. Default true. */
  autoRefresh?: boolean | undefined
  /** Accepted and ignored: the server already announces a burst of changes as one. */
  debounceMs?: number | undefined
}

export interface ListChangedHandlers {
  tools?: ListChanged<Tool> | undefined
  prompts?: ListChanged<Prompt> | undefined
  resources?: ListChanged<Resource> | undefined
}

export interface ClientOptions {
  /** Questions that the server may ask. Set a handler for each. */
  capabilities?: ClientCapabilities | undefined
  /** `legacy`, the default, speaks the revisions with a handshake. `auto` speaks the newest revision that the server supports. */
  versionNegotiation?: { mode?: "legacy" | "auto" | { pin: string } | undefined } | undefined
  listChanged?: ListChangedHandlers | undefined
  /** Accepted and ignored. */
  enforceStrictCapabilities?: boolean | undefined
  jsonSchemaValidator?: unknown
  inputRequired?: unknown
  supportedProtocolVersions?: ReadonlyArray<string> | undefined
}

export interface RequestOptions {
  /** Cancels the request. Its promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** How long to wait for the answer, in milliseconds. Default 60 000. */
  timeout?: number | undefined
  maxTotalTimeout?: number | undefined
  resetTimeoutOnProgress?: boolean | undefined
  onprogress?: ((progress: Progress) => void) | undefined
  /** `refresh` sends the request even if a fresh result is cached (2026-07-28). */
  cacheMode?: string | undefined
  /** Whether to return a result that asks for input from `request`, without answering its questions. */
  allowInputRequired?: boolean | undefined
  /** Accepted and ignored: the transport resumes a lost stream. */
  resumptionToken?: string | undefined
  /** Called with the id of each event in the answer. Only over HTTP, and if the server sends ids. */
  onresumptiontoken?: ((token: string) => void) | undefined
  relatedRequestId?: string | number | undefined
  toolDefinition?: Tool | undefined
  _meta?: JsonObject | undefined
}

export interface ConnectOptions extends RequestOptions {
  /** Era of the server, if known: `modern` skips the probe, `legacy` starts with the handshake. */
  prior?: PriorDiscovery | undefined
}

/** Which page of a list to return. Without a cursor, the first. */
export interface ListParams {
  cursor?: string | undefined
  _meta?: JsonObject | undefined
}
