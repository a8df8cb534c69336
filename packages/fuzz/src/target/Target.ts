/**
 * What is fuzzed: a server that can be opened again and again, and the wire to it.
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StreamEvent, CallHeaders } from "../model/Call.ts"
import type { Model } from "../model/Model.ts"
import type { Script } from "../model/Script.ts"
import type { ForeignTasks } from "../model/TaskBook.ts"

/** The server could not be started or reached, which is no fault of its conversation. */
export class TargetError extends Data.TaggedError("TargetError")<{ readonly message: string }> {}

/** What comes from a server. */
export type WireEvent =
  | { readonly _tag: "Line"; readonly text: string }
  /** The server did not take this line; says how. */
  | { readonly _tag: "Refused"; readonly text: string; readonly how: string }
  /** The server ended the conversation; says how. */
  | { readonly _tag: "Ended"; readonly how: string }

/** One HTTP request. */
export interface TargetRequest {
  readonly method: "POST" | "GET" | "DELETE"
  readonly headers: CallHeaders
  readonly body: string | undefined
  /** Its URL at the server, where that is known. */
  readonly url?: string | undefined
}

/** What comes in response to an HTTP request, in this order. */
export type HttpEvent =
  | { readonly _tag: "Head"; readonly status: number; readonly headers: CallHeaders }
  | { readonly _tag: "Event"; readonly event: StreamEvent }
  | { readonly _tag: "Retry"; readonly milliseconds: number }
  /** The end; with the text of a body that is no stream of events. */
  | { readonly _tag: "End"; readonly body: string }
  /** There was no response, or it broke off. */
  | { readonly _tag: "Failed"; readonly why: string }

/** Sends an HTTP request; never waits. Gives what closes its connection, after which nothing comes any more. */
export type Begin = (request: TargetRequest, listener: (event: HttpEvent) => void) => () => void

/** One connection. */
export interface Wire {
  /** Sends one line; never waits. */
  readonly send: (line: string) => void
  /** Ends the input of the server. */
  readonly end: Effect.Effect<void>
  /** The conversations that the server had before, oldest first. Default: none. */
  readonly before?: ReadonlyArray<Script> | undefined
  /** What is known of these conversations, which this one continues. Default: there are none. */
  readonly model?: Model | undefined
  /** Called with a conversation that ended in order: whether the server stays for another one. Default: it ends. */
  readonly keep?: ((script: Script, model: Model) => boolean) | undefined
}

/** A server that is reached by HTTP requests. */
export interface HttpWire {
  readonly begin: Begin
  /** Whether the session id was never given before. */
  readonly isNewId: (id: string) => boolean
}

/** A server to talk to by lines. */
export interface LineTarget {
  /** How people recognise it: a command line, a URL. */
  readonly name: string
  readonly transport: "stdio" | "memory" | "sse"
  /** Opens a connection to a fresh server, or to one that is kept for such a script. `receive` is called for all that comes. */
  readonly open: (receive: (event: WireEvent) => void, script?: Script) => Effect.Effect<Wire, TargetError, Scope.Scope>
  /** Completes when nothing more happens by itself. Default: only time tells. */
  readonly settle?: Effect.Effect<void> | undefined
}

/** The signal that ended a process whose exit code fails with this error; undefined where none did. Only the cause names it. */
export const signalOf = ({ cause }: { readonly cause?: unknown }): string | undefined =>
  /\bSIG[A-Z0-9]+/.exec(String(cause))?.[0]

/** A server to talk to by HTTP requests. All conversations are with the same one. */
export interface HttpTarget {
  /** Its URL. */
  readonly name: string
  readonly transport: "http"
  readonly open: Effect.Effect<HttpWire, never, Scope.Scope>
  /** The same with the credentials of another principal, where there are such. */
  readonly stranger?: Effect.Effect<HttpWire, never, Scope.Scope> | undefined
  /** Whether requests carry no headers of the user, such as credentials. */
  readonly isAnonymous: boolean
  readonly settle?: undefined
}

/** A server to talk to. */
export type Target = LineTarget | HttpTarget

/** The server as another client of it sees it, and how the two are told apart; undefined for a stranger without credentials. */
export const anotherClient = (
  target: Target,
  stranger: boolean
): { readonly target: Target; readonly callers: ForeignTasks["callers"] } | undefined => {
  if (target.transport !== "http") return undefined
  if (!stranger) return { target, callers: target.isAnonymous ? "anonymous" : "same" }
  return target.stranger && { target: { ...target, open: target.stranger }, callers: "different" }
}
