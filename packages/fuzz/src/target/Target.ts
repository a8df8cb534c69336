/** The server to fuzz, which can be opened over and over, and the connection to it. */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StreamEvent, CallHeaders } from "../model/Call.ts"
import type { Model } from "../model/Model.ts"
import type { Script } from "../model/Script.ts"
import type { ForeignTasks } from "../model/TaskBook.ts"

/** The server couldn't be started or reached. This says nothing about the conversation itself. */
export class TargetError extends Data.TaggedError("TargetError")<{ readonly message: string }> {}

/** An event received from the server. */
export type WireEvent =
  | { readonly _tag: "Line"; readonly text: string }
  /** The server did not accept this line. `how` explains how it failed. */
  | { readonly _tag: "Refused"; readonly text: string; readonly how: string }
  /** The server ended the session. `how` explains how it ended. */
  | { readonly _tag: "Ended"; readonly how: string }

/** A single HTTP request. */
export interface TargetRequest {
  readonly method: "POST" | "GET" | "DELETE"
  readonly headers: CallHeaders
  readonly body: string | undefined
  /** The request's URL on the server, if known. */
  readonly url?: string | undefined
}

/** An HTTP response event. The events arrive in this order. */
export type HttpEvent =
  | { readonly _tag: "Head"; readonly status: number; readonly headers: CallHeaders }
  | { readonly _tag: "Event"; readonly event: StreamEvent }
  | { readonly _tag: "Retry"; readonly milliseconds: number }
  /** The end of the response. `body` is the text of a body that isn't an event stream. */
  | { readonly _tag: "End"; readonly body: string }
  /** There was no response, or it was cut off. */
  | { readonly _tag: "Failed"; readonly why: string }

/**
 * Starts sending an HTTP request and returns immediately. Call the returned function to close the connection; no events arrive afterwards.
 */
export type Begin = (request: TargetRequest, listener: (event: HttpEvent) => void) => () => void

/** A connection to the server. */
export interface Wire {
  /** Sends a line without waiting. */
  readonly send: (line: string) => void
  /** Closes the server's input. */
  readonly end: Effect.Effect<void>
  /** Earlier conversations with this server, oldest first. Default: none. */
  readonly before?: ReadonlyArray<Script> | undefined
  /** Model of the earlier conversations that this one continues, if any. */
  readonly model?: Model | undefined
  /** Called with a conversation that ended normally. Returns true to keep the server for another one. Default: the server is stopped. */
  readonly keep?: ((script: Script, model: Model) => boolean) | undefined
}

/** A connection to a server that receives HTTP requests. */
export interface HttpWire {
  readonly begin: Begin
  /** Returns true if this session ID hasn't been used before. */
  readonly isNewId: (id: string) => boolean
}

/** A server that communicates in lines. */
export interface LineTarget {
  /** Name to show to people, such as a command line or URL. */
  readonly name: string
  readonly transport: "stdio" | "memory" | "sse"
  /**
   * Opens a connection to a new server, or to one kept from an earlier conversation that suits the script. `receive` is called with every
   * event.
   */
  readonly open: (receive: (event: WireEvent) => void, script?: Script) => Effect.Effect<Wire, TargetError, Scope.Scope>
  /** Completes when nothing more will happen without further input. Default: only a timeout can tell. */
  readonly settle?: Effect.Effect<void> | undefined
}

/** Returns the signal that ended a process with this error, or `undefined`. Only the error's cause names the signal. */
export const signalOf = ({ cause }: { readonly cause?: unknown }): string | undefined =>
  /\bSIG[A-Z0-9]+/.exec(String(cause))?.[0]

/** A server that communicates over HTTP. Every conversation uses the same server. */
export interface HttpTarget {
  /** The server's URL. */
  readonly name: string
  readonly transport: "http"
  readonly open: Effect.Effect<HttpWire, never, Scope.Scope>
  /** Opens a connection with a different user's credentials, if any are configured. */
  readonly stranger?: Effect.Effect<HttpWire, never, Scope.Scope> | undefined
  /** True if requests carry no user-specific headers, such as credentials. */
  readonly isAnonymous: boolean
  readonly settle?: undefined
}

/** A server to fuzz. */
export type Target = LineTarget | HttpTarget

/**
 * Returns the server as a second client sees it, and how the two clients differ. Returns `undefined` for a different user without
 * credentials.
 */
export const anotherClient = (
  target: Target,
  stranger: boolean
): { readonly target: Target; readonly callers: ForeignTasks["callers"] } | undefined => {
  if (target.transport !== "http") return undefined
  if (!stranger) return { target, callers: target.isAnonymous ? "anonymous" : "same" }
  return target.stranger && { target: { ...target, open: target.stranger }, callers: "different" }
}
