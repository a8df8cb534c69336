/**
 * What a handler may use beside its arguments: the second argument of handlers of tools, prompts and resources.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Meta } from "../model/Content.ts"
import type { Implementation, LogLevel, Root, SamplingParams, SamplingResult } from "../model/Results.ts"

/** The authenticated user of a request. Without authorization `subject` is undefined. */
export interface Principal {
  /** A stable name of the user, unique within its issuer. */
  readonly subject: string | undefined
  /** What the user may do; the OAuth scopes of a token. */
  readonly scopes: ReadonlyArray<string>
  /** Further claims about the user. */
  readonly claims: { readonly [claim: string]: unknown }
}

/** Options of one question. */
export interface AskOptions {
  /** Names the question where handlers are run again (2026-07-28): needed for two identical ones at once. */
  readonly key?: string
}

/** Questions to the user (spec: client/elicitation). A user that declines rejects the promise with a `RequestError`, reason `Declined`. */
export interface Ask {
  /** Asks yes or no: resolves when the user accepts. */
  (message: string): Promise<void>
  /** Shows a form of the schema's fields (strings, numbers, booleans, choices), and resolves with the validated answer. */
  <S extends StandardSchemaV1>(
    message: string,
    schema: S,
    options?: AskOptions
  ): Promise<StandardSchemaV1.InferOutput<S>>
  /** Asks the user to visit a URL (2025-11-25 on). Resolves with the id of the interaction on consent, not on completion. */
  readonly url: (message: string, url: string | URL) => Promise<string>
}

/** Log messages to the client, one method per level; `data` is any JSON value. Only levels that the client asked for are sent. */
export type Log = {
  readonly [level in LogLevel]: (data: unknown, logger?: string) => void
}

/** What JSON makes of a value: what `once` gives, in every revision. */
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
 * The request that a handler serves. Members may be taken out: `async (input, { ask, progress, signal }) => ...`.
 *
 * In 2026-07-28 there is no connection to ask over: `ask`, `sample` and `roots` end the round, and the client sends the request again
 * with the answer. Then the handler runs again from its start, where the known answers are given at once. So code before a question runs
 * once per round: put effects that matter into `once`. Code behind a question that has no answer yet does not run, `catch` and
 * `finally` included: the promise of such a question never settles, and `signal` aborts.
 */
export interface HandlerContext {
  /** Aborts when the request is cancelled, its time limit is over, the server closes, or a round ends (2026-07-28). */
  readonly signal: AbortSignal
  readonly ask: Ask
  /**
   * Tells the client how far the request has come; `progress` must grow. Sent only where the client asked for it. The promise waits while
   * the connection is full.
   */
  readonly progress: (
    progress: number,
    options?: { readonly total?: number | undefined; readonly message?: string | undefined }
  ) => Promise<void>
  readonly log: Log
  /**
   * Runs `effect` at most once per request and resolves with its value as JSON; a later round gets the recorded one. `name` is unique
   * within the handler. `effect` must not ask, and has a minute. A failure is not recorded.
   */
  readonly once: <A>(name: string, effect: () => A | PromiseLike<A>) => Promise<Jsonified<A>>
  /** Asks the client's model (spec: client/sampling). A text is one message of the user, answered by at most 1024 tokens. */
  readonly sample: (params: SamplingParams | string, options?: AskOptions) => Promise<SamplingResult>
  /** The folders that the client offers (spec: client/roots). */
  readonly roots: () => Promise<ReadonlyArray<Root>>
  /** `_meta` of the request. */
  readonly meta: Meta
  readonly principal: Principal
  /** The client, as it names itself; not verified. */
  readonly client: Implementation | undefined
  /** The revision of the protocol, such as "2025-11-25". */
  readonly revision: string
  /** The session of the request; undefined in 2026-07-28. */
  readonly sessionId: string | undefined
}

/** Where an error was thrown. */
export interface ErrorPlace {
  readonly kind: "tool" | "resource" | "prompt" | "completion" | "auth" | "hook"
  /** The name of the tool or prompt, the URI or template of the resource, the method of a hook's request. */
  readonly name: string
}
