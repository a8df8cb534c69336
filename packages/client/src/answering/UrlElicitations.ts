/**
 * URL elicitations, which the user completes outside of the protocol (spec 2025-11-25: client/elicitation, URL mode).
 *
 * Owns the open ids, and ignores completions of any other. A request that is refused until URLs are visited (-32042) is sent once more.
 * Before that the user has accepted each of them, and the server has announced their completion.
 */
import type { Elicitation } from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import {
  UrlElicitationRequiredData,
  type ElicitParams,
  type ElicitResult
} from "@effect-mcp/protocol/model/Elicitation"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as ElicitationChecks from "./ElicitationChecks.ts"
import { Hub } from "../internal/Hub.ts"

type UrlParams = Extract<ElicitParams, { readonly mode: "url" }>

/** Ids that are remembered at most: an elicitation may never be completed. */
const maxOpen = 1024
const decode = Schema.decodeUnknownEffect(UrlElicitationRequiredData)

/** Whether the revision announces completions, and refuses requests until URLs are visited. */
export const areTold = ({ serverNotifications }: Revision): boolean =>
  "notifications/elicitation/complete" in serverNotifications

export class UrlElicitations {
  private readonly open = new Map<string, Deferred.Deferred<void>>()
  private readonly hub = new Hub<string>()
  private readonly service: Elicitation["Service"] | undefined
  private readonly timeout: Duration.Input

  /** `timeout` bounds the wait for the URLs of one refused request. */
  constructor(service: Elicitation["Service"] | undefined, timeout: Duration.Input) {
    this.service = service
    this.timeout = timeout
  }

  /** The ids of URL elicitations that the server announces as complete. */
  get completions(): Stream.Stream<string> {
    return this.hub.stream(maxOpen)
  }

  /** Takes an announcement of the server; ids that are unknown or complete are ignored. */
  complete(id: string): void {
    const done = this.open.get(id)
    if (done === undefined) return
    this.open.delete(id)
    Deferred.doneUnsafe(done, Effect.void)
    this.hub.publish(id)
  }

  close(): void {
    this.hub.close(Exit.void)
  }

  /** Waits for the completion of that id from now on. */
  expect(id: string): Deferred.Deferred<void> {
    const known = this.open.get(id)
    if (known !== undefined) return known
    const [oldest] = this.open.keys()
    if (oldest !== undefined && this.open.size >= maxOpen) this.open.delete(oldest)
    const done = Deferred.makeUnsafe<void>()
    this.open.set(id, done)
    return done
  }

  /** The same service, which remembers the ids of accepted URLs. */
  remembering(service: Elicitation["Service"]): Elicitation["Service"] {
    return {
      modes: service.modes,
      elicit: (params) =>
        params.mode !== "url" || params.elicitationId === undefined
          ? service.elicit(params)
          : this.expecting(params.elicitationId, service.elicit(params))
    }
  }

  /** Waits before the user is asked: the interaction may be complete before the dialogue is closed. */
  private expecting<E>(id: string, answer: Effect.Effect<ElicitResult, E>): Effect.Effect<ElicitResult, E> {
    return Effect.suspend(() => {
      const known = this.open.has(id)
      this.expect(id)
      return Effect.onExit(answer, (exit) =>
        Effect.sync(() => {
          if (!known && !(Exit.isSuccess(exit) && exit.value.action === "accept")) this.open.delete(id)
        })
      )
    })
  }

  /** Runs `request`, and once more if URLs had to be visited first. Fails with the first error if they were not visited. */
  retrying<A, E>(request: Effect.Effect<A, E | McpError.McpError>): Effect.Effect<A, E | McpError.McpError> {
    const { service } = this
    if (service?.modes.url !== true) return request
    return Effect.catchIf(request, isRequired, (error) =>
      Effect.flatMap(this.visit(service, error), (visited) => (visited ? request : Effect.fail(error)))
    )
  }

  private visit(service: Elicitation["Service"], error: McpError.McpError): Effect.Effect<boolean> {
    return decode(error.data).pipe(
      Effect.flatMap(({ elicitations }) => {
        // Before the user is asked: the interaction may be complete before the dialogue is closed.
        const pages = elicitations.map((params) => ({ params, done: this.expect(params.elicitationId ?? "") }))
        const agreed = Effect.forEach(pages, ({ params }) => agree(service, params), { discard: true })
        const done = Effect.forEach(pages, ({ done }) => Deferred.await(done), { discard: true })
        return Effect.andThen(agreed, Effect.map(Effect.timeoutOption(done, this.timeout), Option.isSome))
      }),
      Effect.orElseSucceed(() => false)
    )
  }
}

const isRequired = (error: unknown): error is McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.UrlElicitationRequired

const refused = McpError.invalidParams("The user did not agree to visit the page")

const agree = (service: Elicitation["Service"], params: UrlParams) =>
  Effect.andThen(
    ElicitationChecks.checkQuestion(params, true),
    Effect.flatMap(service.elicit(params), ({ action }) => (action === "accept" ? Effect.void : Effect.fail(refused)))
  )
