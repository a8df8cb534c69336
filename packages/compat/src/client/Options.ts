/** Options of a client and of its requests. Times are in milliseconds. */
import type {
  ClientCapabilities,
  JsonObject,
  PriorDiscovery,
  Progress,
  Prompt,
  Resource,
  Tool
} from "../model/types.ts"

/** Called when a list has changed: with the new list, where `autoRefresh` reads it. */
export interface ListChanged<A> {
  onChanged: (error: Error | null, items: Array<A> | null) => void
  /** Whether the list is read. Default true. */
  autoRefresh?: boolean | undefined
  /** Accepted and ignored: bursts are announced as one by the server. */
  debounceMs?: number | undefined
}

export interface ListChangedHandlers {
  tools?: ListChanged<Tool> | undefined
  prompts?: ListChanged<Prompt> | undefined
  resources?: ListChanged<Resource> | undefined
}

export interface ClientOptions {
  /** What the client can be asked: set a handler for each. */
  capabilities?: ClientCapabilities | undefined
  /** `legacy`, the default, speaks revisions with a handshake; `auto` the newest that the server speaks. */
  versionNegotiation?: { mode?: "legacy" | "auto" | { pin: string } | undefined } | undefined
  listChanged?: ListChangedHandlers | undefined
  /** Accepted and ignored. */
  enforceStrictCapabilities?: boolean | undefined
  jsonSchemaValidator?: unknown
  inputRequired?: unknown
  supportedProtocolVersions?: ReadonlyArray<string> | undefined
}

export interface RequestOptions {
  /** Cancels the request; its promise rejects with the reason. */
  signal?: AbortSignal | undefined
  /** How long the request waits for its answer. Default a minute. */
  timeout?: number | undefined
  maxTotalTimeout?: number | undefined
  resetTimeoutOnProgress?: boolean | undefined
  onprogress?: ((progress: Progress) => void) | undefined
  /** `refresh`: the request is sent although a fresh result is cached (2026-07-28). */
  cacheMode?: string | undefined
  /** `request` gives a result that asks for input as it is. */
  allowInputRequired?: boolean | undefined
  /** Accepted and ignored: a lost stream is resumed by the transport. */
  resumptionToken?: string | undefined
  /** Called with the id of each event of the answer: over HTTP, where the server gives ids. */
  onresumptiontoken?: ((token: string) => void) | undefined
  relatedRequestId?: string | number | undefined
  toolDefinition?: Tool | undefined
  _meta?: JsonObject | undefined
}

export interface ConnectOptions extends RequestOptions {
  /** What is known of the server: `modern` saves the probe, `legacy` begins with the handshake. */
  prior?: PriorDiscovery | undefined
}

/** Which page of a list is asked for: without a cursor the first. */
export interface ListParams {
  cursor?: string | undefined
  _meta?: JsonObject | undefined
}
