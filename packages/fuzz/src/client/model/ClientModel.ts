/** The server's view of a conversation: the messages and values it gave to the client, and everything the client has sent. */
import type { Version } from "@effect-mcp/protocol/Revision"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ServerFault } from "./ServerScript.ts"

type Headers = { readonly [name: string]: string }

/** An HTTP request or a line from the client. */
export interface Sent {
  /** HTTP method, or `LINE` over stdio. */
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
  /** True once its response was sent or abandoned. */
  over: boolean
}

/** A request of the server. */
export interface SentQuestion {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
  readonly at: number
  /** True if the client had finished the handshake and must answer. */
  readonly isDue: boolean
  answered: boolean
}

/** The questions of one round, to which the client must reply (2026-07-28). */
export interface RequestRound {
  readonly method: string
  readonly name: unknown
  readonly id: unknown
  readonly state: unknown
  readonly keys: ReadonlyArray<string>
}

/** A stream that the server cut and the client may resume. */
export interface CutStream {
  readonly lastEventId: string
  readonly retry: number
  readonly at: number
  resumed: boolean
}

/** A server process that a client started over stdio. */
export interface ServerProcess {
  /** True once its stdin has ended. */
  inputEnded: boolean
  /** Received signals, in order. */
  readonly signals: Array<string>
  /** True if a signal came before stdin ended. */
  signalFirst: boolean
  /** True if it keeps running after stdin ends (`input`) and after SIGTERM (`signals`). */
  readonly lingers: { readonly input: boolean; readonly signals: boolean }
  /** `exited`: as a server should; `broke`: in the middle of a request; `killed`: without a chance to react. */
  state: "runs" | "exited" | "broke" | "killed"
}

/** How a client ended. */
export interface Ending {
  /** `done`: the client succeeded; `failed`: it reported an error; `crashed`: it died of a bug; `hung`: it never ended. */
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
  /** Sessions that the server forgot, and whether a response has said so. */
  readonly expired = new Map<string, boolean>()
  /** Capabilities that the client declared. */
  declares: JsonObject = {}
  phase: "new" | "opening" | "open" | "ready" = "new"
  /** The version in the result of `initialize`. */
  agreed: unknown
  /** True if no client supports that version. */
  impossible = false
  /** True if the client ended the session with a DELETE. */
  removed = false
  /** Number of requested pages, and whether a cursor was issued twice. */
  pages = 0
  endless = false

  constructor(revision: Version, faults: ReadonlyArray<ServerFault>, transport: "http" | "stdio") {
    this.revision = revision
    this.transport = transport
    this.stateless = revision >= "2026"
    this.faults = faults
    if (this.stateless) this.phase = "ready"
  }

  /** Starts over after `initialize`. */
  reopen(): void {
    this.phase = "opening"
    this.agreed = undefined
    this.impossible = false
    this.removed = false
    this.ids.clear()
    this.cursors.clear()
  }
}
