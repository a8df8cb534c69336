/**
 * The second argument of tool, prompt and resource handlers.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Meta } from "../model/Content.ts"
import type { Implementation, LogLevel, Root, SamplingParams, SamplingResult } from "../model/Results.ts"

/** The user of a request. */
export interface Principal {
  /** Stable identifier of the user, unique within its issuer; `undefined` for an anonymous caller. */
  readonly subject: string | undefined
  /** Permissions of the user: the OAuth scopes of the token. */
  readonly scopes: ReadonlyArray<string>
  /** Other claims about the user. */
  readonly claims: { readonly [claim: string]: unknown }
}

/** Options of one question. */
export interface AskOptions {
  /** Identifies the question when the handler runs again (2026-07-28). Required if two identical questions are open at once. */
  readonly key?: string
}

/**
 * Asks the user. If the user declines, the promise rejects with a `RequestError` whose reason is `Declined`.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export interface Ask {
  /** Asks a yes-or-no question. Resolves when the user accepts. */
  (message: string): Promise<void>
  /** Shows a form with the schema's fields (strings, numbers, booleans, choices). Resolves with the validated answer. */
  <S extends StandardSchemaV1>(
    message: string,
    schema: S,
    options?: AskOptions
  ): Promise<StandardSchemaV1.InferOutput<S>>
  /** Asks the user to visit a URL (since 2025-11-25). Resolves with an interaction id when the user consents, not when they are done. */
  readonly url: (message: string, url: string | URL) => Promise<string>
}

/** Sends log messages to the client, with one method per level. `data` is any JSON value. Drops levels the client did not ask for. */
export type Log = {
  readonly [level in LogLevel]: (data: unknown, logger?: string) => void
}

/** The type of a value after a round trip through JSON, as `once` returns it in every revision. */
export type Jsonified<A> = A extends string | number | boolean | null | undefined
  ? A
  : A extends { toJSON: () => infer J }
    ? Jsonified<J>
    : A extends (...args: never) => unknown
      ? never
      : A extends ReadonlyArray<infer I>
        ? ReadonlyArray<Jsonified<I>>
        : A extends object
          ? { readonly [K in keyof A]: Jsonified<A[K]> }
          : A

/**
 * The request that a handler serves. You may destructure it: `async (input, { ask, progress, signal }) => ...`.
 *
 * In 2026-07-28 a server cannot ask while a request is open. `ask`, `sample` and `roots` end the round, and the client sends the request
 * again with the answer. The handler then runs again from the start, and questions already answered resolve immediately. So code before
 * a question runs once per round: put side effects into `once`. Code after an unanswered question does not run in that round, not even
 * `catch` or `finally`: the question's promise never settles, and `signal` aborts.
 */
export interface HandlerContext {
  /** Aborts when the request is cancelled, runs out of time, the server closes, or a round ends (2026-07-28). */
  readonly signal: AbortSignal
  /** Asks the user. */
  readonly ask: Ask
  /**
   * Reports progress to the client, if it asked for progress. `progress` must increase with each call. The promise waits while the
   * connection cannot take more data.
   */
  readonly progress: (
    progress: number,
    options?: { readonly total?: number | undefined; readonly message?: string | undefined }
  ) => Promise<void>
  /** Sends log messages to the client. */
  readonly log: Log
  /**
   * Calls `effect` once per request and resolves with its value as JSON; later rounds get the recorded value. `name` must be unique
   * within the handler. `effect` must not ask questions and must finish within a minute. Failures are not recorded.
   */
  readonly once: <A>(name: string, effect: () => A | PromiseLike<A>) => Promise<Jsonified<A>>
  /**
   * Asks the client's model. A string is sent as one user message with a limit of 1024 tokens for the answer.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
   */
  readonly sample: (params: SamplingParams | string, options?: AskOptions) => Promise<SamplingResult>
  /**
   * Requests the folders that the client offers.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/roots
   */
  readonly roots: () => Promise<ReadonlyArray<Root>>
  /** The request's `_meta`. */
  readonly meta: Meta
  /** The authenticated user, or an anonymous one. */
  readonly principal: Principal
  /** The client's name and version, as reported by the client and not verified. */
  readonly client: Implementation | undefined
  /** The revision of the protocol, such as "2025-11-25". */
  readonly revision: string
  /** Id of the session, or `undefined` in 2026-07-28. */
  readonly sessionId: string | undefined
}

/** The callback that threw an error. */
export interface ErrorPlace {
  readonly kind: "tool" | "resource" | "prompt" | "completion" | "auth" | "hook"
  /** Name of the tool or prompt, URI or template of the resource, or method of the hook's request. */
  readonly name: string
}
