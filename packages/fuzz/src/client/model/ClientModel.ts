/**
 * What is known of a conversation from the side of the server: what it gave to the client, and what the client has sent.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ServerFault } from "./ServerScript.ts"

type Headers = { readonly [name: string]: string }

/** One HTTP request of the client, or a line that it has written. */
export interface Sent {
  /** Over stdio: `LINE`. */
  readonly method: string
  readonly path: string
  /** Names are lower-case. */
  readonly headers: Headers
  readonly body: string
  /** Milliseconds since the conversation began. */
  readonly at: number
}

/** A request of the client. */
export interface ClientRequest {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
  readonly sent: Sent
  /** Whether its response was given, or given up. */
  over: boolean
}

/** A request of the server. */
export interface SentQuestion {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
  readonly at: number
  /** Whether the client was ready for it. */
  readonly isDue: boolean
  answered: boolean
}

/** What one round of a request was answered with in 2026-07-28. */
export interface RequestRound {
  readonly method: string
  readonly name: unknown
  readonly id: unknown
  readonly state: unknown
  readonly keys: ReadonlyArray<string>
}

/** A stream whose connection the server closed, and that the client may resume. */
export interface CutStream {
  readonly lastEventId: string
  readonly retry: number
  readonly at: number
  resumed: boolean
}

/** A process of the server that a client over stdio has started. */
export interface ServerProcess {
  /** Whether its stdin ended. */
  inputEnded: boolean
  /** The signals that it received, in order. */
  readonly signals: Array<string>
  /** Whether a signal came before the end of stdin. */
  signalFirst: boolean
  /** Whether it stays when its stdin ends, and when SIGTERM comes. */
  readonly lingers: { readonly input: boolean; readonly signals: boolean }
  /** `exited`: as a server does; `broke`: in the middle of a request; `killed`: it had no say in it. */
  state: "runs" | "exited" | "broke" | "killed"
}

/** How a client ended. */
export interface Ending {
  /** `done`: it did what it wanted; `failed`: it says that it did not; `crashed`: it broke; `hung`: it did not end at all. */
  readonly kind: "done" | "failed" | "crashed" | "hung"
  readonly how: string
}

export class ClientModel {
  readonly revision: Version
  readonly stateless: boolean
  readonly transport: "http" | "stdio"
  readonly faults: ReadonlyArray<ServerFault>
  readonly asked: Array<ClientRequest> = []
  readonly questions: Array<SentQuestion> = []
  /** The ids of requests in this session. */
  readonly ids = new Set<string>()
  readonly cursors = new Set<string>()
  readonly rounds: Array<RequestRound> = []
  readonly cuts: Array<CutStream> = []
  readonly processes: Array<ServerProcess> = []
  /** Tools that a client must not call. */
  readonly forbidden = new Set<string>()
  session: string | undefined
  /** The sessions that were forgotten, and whether the client was told so. */
  readonly expired = new Map<string, boolean>()
  /** What the client declared. */
  declares: JsonObject = {}
  phase: "new" | "opening" | "open" | "ready" = "new"
  /** The version in the result of `initialize`. */
  agreed: unknown
  /** Whether that version is none that any client speaks. */
  impossible = false
  /** Whether the client ended the session by a DELETE. */
  removed = false
  /** Pages of lists that were asked for, and whether they had an end. */
  pages = 0
  endless = false

  constructor(revision: Version, faults: ReadonlyArray<ServerFault>, transport: "http" | "stdio") {
    this.revision = revision
    this.transport = transport
    this.stateless = revision >= "2026"
    this.faults = faults
    if (this.stateless) this.phase = "ready"
  }

  /** Begins anew, as `initialize` does. */
  reopen(): void {
    this.phase = "opening"
    this.agreed = undefined
    this.impossible = false
    this.removed = false
    this.ids.clear()
    this.cursors.clear()
  }
}
