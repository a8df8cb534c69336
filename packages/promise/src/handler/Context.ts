/**
 * The second argument of tool, prompt and resource handlers.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Meta } from "../model/Content.ts"
import type { Implementation, LogLevel, Root, SampledMessage, SamplingParams } from "../model/Results.ts"

/** The user of a request. */
export interface Principal {
  /** Stable user identifier, unique within its issuer, or `undefined` for an anonymous caller. */
  readonly subject: string | undefined
  /** The user's permissions: the token's OAuth scopes. */
  readonly scopes: ReadonlyArray<string>
  /** Other claims about the user. */
  readonly claims: { readonly [claim: string]: unknown }
}

/** Options for a single question. */
export interface AskOptions {
  /** Identifies the question when the handler runs again (2026-07-28). Required if two identical questions are open at the same time. */
  readonly key?: string
}

/**
 * Asks the user. If the user declines, the promise rejects with a `RequestError` whose reason is `Declined`.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export interface Ask {
  /** Asks for confirmation. Resolves when the user accepts. */
  (message: string): Promise<void>
  /** Shows a form with the schema's fields (strings, numbers, booleans and choices). Resolves with the validated answer. */
  <S extends StandardSchemaV1>(
    message: string,
    schema: S,
    options?: AskOptions
  ): Promise<StandardSchemaV1.InferOutput<S>>
  /**
   * Asks the user to visit a URL (since 2025-11-25). Resolves with an interaction ID as soon as the user agrees, before they are done
   * there.
   */
  readonly url: (message: string, url: string | URL) => Promise<string>
}

/**
 * Sends log messages to the client, with one method per level. `data` is any JSON value. Messages below the level the client asked for are
 * dropped.
 */
export type Log = {
  readonly [level in LogLevel]: (data: unknown, logger?: string) => void
}

/** A value's type after a JSON round trip, which is what `once` returns in every revision. */
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
 * The current request. You may destructure it: `async (input, { ask, progress, signal }) => ...`.
 *
 * In 2026-07-28, a server can't ask questions while a request is open. Instead, `ask`, `sample` and `roots` end the round, and the client
 * resends the request with the answer. The handler then runs again from the start, and questions that were already answered resolve
 * immediately. Code before a question therefore runs once per round, so wrap side effects in `once`. Code after an unanswered question
 * doesn't run in that round, not even `catch` or `finally`: the question's promise never settles, and `signal` aborts.
 */
export interface HandlerContext {
  /** Aborts when the request is cancelled or times out, when the server closes, or when a round ends (2026-07-28). */
  readonly signal: AbortSignal
  /** Asks the user. */
  readonly ask: Ask
  /**
   * Reports progress, if the client asked for it. `progress` must increase with each call. The returned promise resolves once the
   * connection can take more data.
   */
  readonly progress: (
    progress: number,
    options?: { readonly total?: number | undefined; readonly message?: string | undefined }
  ) => Promise<void>
  /** Sends log messages to the client. */
  readonly log: Log
  /**
   * Calls `effect` once per request and resolves with its value as JSON. Later rounds reuse the recorded value. `name` must be unique
   * within the handler. `effect` must not ask questions and must finish within a minute. Failures are not recorded.
   */
  readonly once: <A>(name: string, effect: () => A | PromiseLike<A>) => Promise<Jsonified<A>>
  /**
   * Asks the client's model. A string is sent as a single user message, with a limit of 1024 tokens for the response. The result's `text`
   * holds the text of its content.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
   */
  readonly sample: (params: SamplingParams | string, options?: AskOptions) => Promise<SampledMessage>
  /**
   * Requests the folders the client offers.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/roots
   */
  readonly roots: () => Promise<ReadonlyArray<Root>>
  /** The request's `_meta`. */
  readonly meta: Meta
  /** The authenticated user, or an anonymous one. */
  readonly principal: Principal
  /** The client's self-reported name and version. Not verified. */
  readonly client: Implementation | undefined
  /** The protocol revision, such as "2025-11-25". */
  readonly revision: string
  /** The session ID, or `undefined` in 2026-07-28. */
  readonly sessionId: string | undefined
}

/** Identifies the callback that threw an error. */
export interface ErrorPlace {
  readonly kind: "tool" | "resource" | "prompt" | "completion" | "auth" | "hook"
  /** Tool or prompt name, resource URI or template, or the method of the hook's request. */
  readonly name: string
}
